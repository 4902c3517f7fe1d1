// Package specs is Kubernetes' own end-to-end suite, with the specs that need no container: the whole
// of it takes far longer to build.
package specs

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/e2e/apimachinery"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/common/node"
	_ "k8s.io/kubernetes/test/e2e/common/storage"
	_ "k8s.io/kubernetes/test/e2e/feature"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/node"
	_ "k8s.io/kubernetes/test/e2e/scheduling"
	_ "k8s.io/kubernetes/test/e2e/storage"
	_ "k8s.io/kubernetes/test/utils/format"
)

// A serial spec goes by what is free on the nodes, but does not wait until the pods of the spec before
// are gone: a namespace takes some seconds to be deleted.
func init() {
	framework.NewFrameworkExtensions = append(framework.NewFrameworkExtensions, func(f *framework.Framework) {
		ginkgo.BeforeEach(func(ctx context.Context) {
			if !ginkgo.CurrentSpecReport().IsSerial {
				return
			}
			gone := func(ctx context.Context) (bool, error) {
				all, err := f.ClientSet.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
				if err != nil {
					return false, err
				}
				for _, namespace := range all.Items {
					if namespace.Status.Phase == v1.NamespaceTerminating {
						return false, nil
					}
				}
				return true, nil
			}
			framework.ExpectNoError(wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, gone))
		})
	})
}

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	os.Exit(m.Run())
}

func TestSpecs(t *testing.T) {
	e2e.RunE2ETests(t)
}
