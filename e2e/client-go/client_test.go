// Package clientgo uses client-go as controllers do, against the server of the kubeconfig in
// KUBECONFIG.
package clientgo

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// patience is how long anything may take before a test counts as hung.
const patience = 3 * time.Minute

func jsonConfig(t *testing.T) *rest.Config {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		t.Fatal("KUBECONFIG is not set: run cargo xtask clients")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	config.QPS = -1
	return config
}

// protobufConfig is what controllers of Kubernetes itself use.
func protobufConfig(t *testing.T) *rest.Config {
	config := jsonConfig(t)
	config.ContentType = protobuf
	config.AcceptContentTypes = protobuf + ",application/json"
	return config
}

func clientset(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// namespace makes one of the test's own, with the service account that pods need.
func namespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	ctx := testContext(t)
	made, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "client-go-"},
	}, metav1.CreateOptions{})
	must(t, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = client.CoreV1().ServiceAccounts(made.Name).Create(ctx, account, metav1.CreateOptions{})
	must(t, err)
	return made.Name
}

// recorder notes what was asked and what the answers' content types were.
type recorder struct {
	next  http.RoundTripper
	lock  sync.Mutex
	asked []url.URL
	types map[string]int
}

func record(config *rest.Config) *recorder {
	r := &recorder{types: map[string]int{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.next = next
		return r
	})
	return r
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.asked = append(r.asked, *request.URL)
	if err == nil {
		r.types[response.Header.Get("Content-Type")]++
	}
	return response, err
}

func (r *recorder) count(matches func(url.Values) bool) int {
	r.lock.Lock()
	defer r.lock.Unlock()
	count := 0
	for _, asked := range r.asked {
		if matches(asked.Query()) {
			count++
		}
	}
	return count
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("%s did not happen", what)
		}
	}
}
