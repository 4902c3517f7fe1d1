package clientgo

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type clients = kubernetes.Interface

func TestInformersStreamTheirLists(t *testing.T) {
	config := protobufConfig(t)
	asked := record(config)
	client := clientset(t, config)
	ctx := testContext(t)
	space := namespace(t, client)
	maps := client.CoreV1().ConfigMaps(space)
	create := func(number int) {
		name := fmt.Sprintf("c%03d", number)
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := maps.Create(ctx, object, metav1.CreateOptions{})
		must(t, err)
	}
	for number := range 50 {
		create(number)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(
		client, 0, informers.WithNamespace(space))
	informer := factory.Core().V1().ConfigMaps()
	var added, updated, deleted atomic.Int32
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	must(t, err)
	// A second kind, so that connections are shared.
	pods := factory.Core().V1().Pods().Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced, pods.HasSynced) {
		t.Fatal("no sync")
	}
	streamed := func(query url.Values) bool { return query.Get("sendInitialEvents") == "true" }
	if asked.count(streamed) < 2 {
		t.Fatal("the lists were not streamed")
	}
	listed := func(query url.Values) bool { return query.Get("limit") != "" }
	if asked.count(listed) > 0 {
		t.Fatal("the client fell back to lists")
	}
	for number := 50; number < 60; number++ {
		create(number)
	}
	patch := []byte(`{"data":{"k":"v"}}`)
	_, err = maps.Patch(ctx, "c000", types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	must(t, maps.Delete(ctx, "c001", metav1.DeleteOptions{}))
	eventually(t, "the last event", func() bool { return deleted.Load() == 1 })
	if added.Load() != 60 || updated.Load() != 1 {
		t.Fatalf("%d added, %d updated", added.Load(), updated.Load())
	}
	all, err := informer.Lister().List(labels.Everything())
	must(t, err)
	if len(all) != 59 {
		t.Fatalf("%d in the cache", len(all))
	}
}

func TestOneLeaderAtATime(t *testing.T) {
	client := clientset(t, protobufConfig(t))
	space := namespace(t, client)
	var leaders atomic.Int32
	candidate := func(name string) (context.CancelFunc, chan struct{}, chan struct{}) {
		ctx, cancel := context.WithCancel(testContext(t))
		leads, done := make(chan struct{}), make(chan struct{})
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: space},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: name},
			},
			LeaseDuration:   15 * time.Second,
			RenewDeadline:   10 * time.Second,
			RetryPeriod:     200 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					if leaders.Add(1) != 1 {
						t.Error("two leaders")
					}
					close(leads)
					<-ctx.Done()
				},
				OnStoppedLeading: func() {},
			},
		})
		must(t, err)
		go func() {
			elector.Run(ctx)
			close(done)
		}()
		return cancel, leads, done
	}
	stopFirst, first, firstDone := candidate("first")
	<-first
	stopSecond, second, secondDone := candidate("second")
	leaders.Add(-1)
	stopFirst()
	<-firstDone
	<-second
	lease, err := client.CoordinationV1().Leases(space).Get(testContext(t), "leader", metav1.GetOptions{})
	must(t, err)
	if *lease.Spec.HolderIdentity != "second" || *lease.Spec.LeaseTransitions != 1 {
		t.Fatalf("%v", lease.Spec)
	}
	stopSecond()
	<-secondDone
}

func TestDiscoveryAndDynamicClient(t *testing.T) {
	config := jsonConfig(t)
	client := clientset(t, config)
	ctx := testContext(t)
	space := namespace(t, client)
	groups, lists, err := client.Discovery().ServerGroupsAndResources()
	must(t, err)
	if len(groups) < 10 || len(lists) < 10 {
		t.Fatalf("%d groups, %d lists", len(groups), len(lists))
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "StatefulSet"})
	must(t, err)
	if mapping.Resource.Resource != "statefulsets" || mapping.Scope.Name() != "namespace" {
		t.Fatalf("%v", mapping)
	}
	anything, err := dynamic.NewForConfig(config)
	must(t, err)
	sets := anything.Resource(mapping.Resource).Namespace(space)
	_, err = sets.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"name": "db"},
		"spec": map[string]any{
			"serviceName": "db",
			"selector":    map[string]any{"matchLabels": map[string]any{"app": "db"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "db"}},
				"spec": map[string]any{
					"containers": []any{map[string]any{"name": "db", "image": "db:1"}},
				},
			},
		},
	}}, metav1.CreateOptions{})
	must(t, err)
	list, err := sets.List(ctx, metav1.ListOptions{})
	must(t, err)
	replicas, _, err := unstructured.NestedInt64(list.Items[0].Object, "spec", "replicas")
	must(t, err)
	if len(list.Items) != 1 || replicas != 1 {
		t.Fatalf("%v", list)
	}
	names, err := metadata.NewForConfig(config)
	must(t, err)
	partial, err := names.Resource(mapping.Resource).Namespace(space).List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(partial.Items) != 1 || partial.Items[0].Name != "db" {
		t.Fatalf("%v", partial)
	}
}

func TestServerSideApply(t *testing.T) {
	client := clientset(t, jsonConfig(t))
	ctx := testContext(t)
	maps := client.CoreV1().ConfigMaps(namespace(t, client))
	wanted := func(colour string) *corev1apply.ConfigMapApplyConfiguration {
		made, _ := corev1apply.ExtractConfigMap(&corev1.ConfigMap{}, "nobody")
		return made.WithName("settings").WithData(map[string]string{"colour": colour})
	}
	apply := func(manager, colour string, force bool) error {
		space := wanted(colour)
		options := metav1.ApplyOptions{FieldManager: manager, Force: force}
		_, err := maps.Apply(ctx, space, options)
		return err
	}
	must(t, apply("first", "blue", false))
	if err := apply("second", "red", false); !errors.IsConflict(err) {
		t.Fatalf("no conflict: %v", err)
	}
	must(t, apply("second", "red", true))
	got, err := maps.Get(ctx, "settings", metav1.GetOptions{})
	must(t, err)
	owned, err := corev1apply.ExtractConfigMap(got, "second")
	must(t, err)
	if got.Data["colour"] != "red" || owned.Data["colour"] != "red" {
		t.Fatalf("%v, of which second owns %v", got.Data, owned.Data)
	}
	lost, err := corev1apply.ExtractConfigMap(got, "first")
	must(t, err)
	if len(lost.Data) != 0 {
		t.Fatalf("first still owns %v", lost.Data)
	}
}
