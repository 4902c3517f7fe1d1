package clientgo

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
)

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody",
			Containers: []corev1.Container{{
				Name:  "main",
				Image: "main:1",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("250m"),
					corev1.ResourceMemory: resource.MustParse("64Mi"),
				}},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http")},
				}},
			}},
		},
	}
}

func TestConfigMapsInProtobuf(t *testing.T) {
	client := clientset(t, protobufConfig(t))
	ctx := testContext(t)
	maps := client.CoreV1().ConfigMaps(namespace(t, client))
	made, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "y"}},
		Data:       map[string]string{"k": "v"},
		BinaryData: map[string][]byte{"b": {0, 1, 255}},
	}, metav1.CreateOptions{})
	must(t, err)
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() {
		t.Fatalf("incomplete: %v", made)
	}
	events, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	must(t, err)
	defer events.Stop()

	stale := made.DeepCopy()
	made.Data["k"] = "w"
	changed, err := maps.Update(ctx, made, metav1.UpdateOptions{})
	must(t, err)
	stale.Data["k"] = "z"
	if _, err = maps.Update(ctx, stale, metav1.UpdateOptions{}); !errors.IsConflict(err) {
		t.Fatalf("no conflict: %v", err)
	}
	got, err := maps.Get(ctx, "a", metav1.GetOptions{})
	must(t, err)
	if got.Data["k"] != "w" || string(got.BinaryData["b"]) != "\x00\x01\xff" {
		t.Fatalf("%v", got)
	}
	list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "x=y"})
	must(t, err)
	if len(list.Items) != 1 || list.ResourceVersion == "" {
		t.Fatalf("%v", list)
	}
	patch := []byte(`{"data":{"k":null,"l":"m"}}`)
	_, err = maps.Patch(ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	wrong := types.UID("other")
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}
	if err = maps.Delete(ctx, "a", options); !errors.IsConflict(err) {
		t.Fatalf("no conflict: %v", err)
	}
	must(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	if _, err = maps.Get(ctx, "a", metav1.GetOptions{}); !errors.IsNotFound(err) {
		t.Fatalf("still there: %v", err)
	}
	for _, expected := range []watch.EventType{watch.Modified, watch.Modified, watch.Deleted} {
		event := <-events.ResultChan()
		if event.Type != expected {
			t.Fatalf("%v instead of %s", event, expected)
		}
		if expected == watch.Modified && event.Object.(*corev1.ConfigMap).UID != changed.UID {
			t.Fatalf("%v", event)
		}
	}
}

func TestPages(t *testing.T) {
	client := clientset(t, protobufConfig(t))
	ctx := testContext(t)
	maps := client.CoreV1().ConfigMaps(namespace(t, client))
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := maps.Create(ctx, object, metav1.CreateOptions{})
		must(t, err)
	}
	seen, options := "", metav1.ListOptions{Limit: 2}
	for {
		list, err := maps.List(ctx, options)
		must(t, err)
		for _, item := range list.Items {
			seen += item.Name
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if seen != "abcde" {
		t.Fatal(seen)
	}
}

func TestPodsAreBoundAndEvicted(t *testing.T) {
	client := clientset(t, protobufConfig(t))
	ctx := testContext(t)
	space := namespace(t, client)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: space}}
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	must(t, err)
	pods := client.CoreV1().Pods(space)
	made, err := pods.Create(ctx, newPod("web"), metav1.CreateOptions{})
	must(t, err)
	if made.Spec.DNSPolicy != corev1.DNSClusterFirst || made.Spec.ServiceAccountName != "default" {
		t.Fatalf("defaults are missing: %v", made.Spec)
	}
	if made.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 250 {
		t.Fatalf("%v", made.Spec.Containers[0].Resources)
	}
	bind := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: space, UID: made.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: space},
	}
	must(t, pods.Bind(ctx, bind, metav1.CreateOptions{}))
	if err = pods.Bind(ctx, bind, metav1.CreateOptions{}); !errors.IsConflict(err) {
		t.Fatalf("bound twice: %v", err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod, err := pods.Get(ctx, "web", metav1.GetOptions{})
		must(t, err)
		if pod.Spec.NodeName != space {
			t.Fatalf("on %q", pod.Spec.NodeName)
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		})
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	})
	must(t, err)
	evict(t, client, space)
}

// evict is refused while the budget allows no disruption.
func evict(t *testing.T, client clients, space string) {
	ctx := testContext(t)
	one := intstr.FromInt32(1)
	budgets := client.PolicyV1().PodDisruptionBudgets(space)
	budget, err := budgets.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1,
	}
	budget, err = budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	must(t, err)
	now := int64(0)
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: "web", Namespace: space},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &now},
	}
	evictions := client.PolicyV1().Evictions(space)
	if err = evictions.Evict(ctx, eviction); !errors.IsTooManyRequests(err) {
		t.Fatalf("the budget was not kept: %v", err)
	}
	budget.Status.DisruptionsAllowed = 1
	_, err = budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	must(t, err)
	must(t, evictions.Evict(ctx, eviction))
	_, err = client.CoreV1().Pods(space).Get(ctx, "web", metav1.GetOptions{})
	if !errors.IsNotFound(err) {
		t.Fatalf("still there: %v", err)
	}
}

func TestDeploymentsAndTheirScale(t *testing.T) {
	client := clientset(t, protobufConfig(t))
	ctx := testContext(t)
	deployments := client.AppsV1().Deployments(namespace(t, client))
	labels := map[string]string{"app": "web"}
	pod := newPod("")
	made, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	if *made.Spec.Replicas != 1 || made.Generation != 1 {
		t.Fatalf("%v", made)
	}
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	must(t, err)
	scale.Spec.Replicas = 5
	_, err = deployments.UpdateScale(ctx, "web", &autoscalingv1.Scale{
		ObjectMeta: scale.ObjectMeta, Spec: scale.Spec,
	}, metav1.UpdateOptions{})
	must(t, err)
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"main:2"}]}}}}`)
	options := metav1.PatchOptions{}
	got, err := deployments.Patch(ctx, "web", types.StrategicMergePatchType, patch, options)
	must(t, err)
	container := got.Spec.Template.Spec.Containers[0]
	if *got.Spec.Replicas != 5 || container.Image != "main:2" || len(container.Ports) != 1 {
		t.Fatalf("%v", got.Spec)
	}
	if got.Generation != 3 {
		t.Fatalf("generation %d", got.Generation)
	}
	must(t, deployments.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
}

// TestAutoscalersInTwoVersions writes in one version and reads in the other.
func TestAutoscalersInTwoVersions(t *testing.T) {
	client := clientset(t, protobufConfig(t))
	ctx := testContext(t)
	space := namespace(t, client)
	old := client.AutoscalingV1().HorizontalPodAutoscalers(space)
	percent := int32(60)
	made, err := old.Create(ctx, &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: "web",
			},
			MaxReplicas:                    3,
			TargetCPUUtilizationPercentage: &percent,
		},
	}, metav1.CreateOptions{})
	must(t, err)
	if *made.Spec.MinReplicas != 1 || *made.Spec.TargetCPUUtilizationPercentage != 60 {
		t.Fatalf("%v", made.Spec)
	}
	autoscalers := client.AutoscalingV2().HorizontalPodAutoscalers(space)
	got, err := autoscalers.Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	metric := got.Spec.Metrics[0].Resource
	if metric.Name != corev1.ResourceCPU || *metric.Target.AverageUtilization != 60 {
		t.Fatalf("%v", got.Spec)
	}
	got.Spec.MaxReplicas = 4
	_, err = autoscalers.Update(ctx, got, metav1.UpdateOptions{})
	must(t, err)
	_, err = old.Update(ctx, made, metav1.UpdateOptions{})
	if !errors.IsConflict(err) {
		t.Fatalf("%v", err)
	}
	made, err = old.Get(ctx, "web", metav1.GetOptions{})
	must(t, err)
	made.Status.CurrentReplicas = 2
	made, err = old.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	must(t, err)
	if made.Spec.MaxReplicas != 4 || made.Status.CurrentReplicas != 2 {
		t.Fatalf("%v", made)
	}
	must(t, old.Delete(ctx, "web", metav1.DeleteOptions{}))
}

func TestRefusalsAreTyped(t *testing.T) {
	client := clientset(t, protobufConfig(t))
	ctx := testContext(t)
	pods := client.CoreV1().Pods(namespace(t, client))
	bad := newPod("Not_A_Name")
	if _, err := pods.Create(ctx, bad, metav1.CreateOptions{}); !errors.IsInvalid(err) {
		t.Fatalf("%v", err)
	}
	if _, err := pods.Get(ctx, "nobody", metav1.GetOptions{}); !errors.IsNotFound(err) {
		t.Fatalf("%v", err)
	}
	_, err := pods.Create(ctx, newPod("twice"), metav1.CreateOptions{})
	must(t, err)
	_, err = pods.Create(ctx, newPod("twice"), metav1.CreateOptions{})
	if !errors.IsAlreadyExists(err) {
		t.Fatalf("%v", err)
	}
	options := metav1.ListOptions{FieldSelector: "spec.image=x"}
	if _, err = pods.List(ctx, options); !errors.IsBadRequest(err) {
		t.Fatalf("%v", err)
	}
	future := metav1.ListOptions{ResourceVersion: "999999999"}
	start := time.Now()
	if _, err = pods.List(ctx, future); !errors.IsTimeout(err) {
		t.Fatalf("after %s: %v", time.Since(start), err)
	}
}
