# Deletion: cascades, finalizers, namespaces.

kubectl create deployment one --image=nginx --replicas=2

kubectl rollout status deployment one | tail -1

kubectl delete deployment one --cascade=foreground

kubectl get deployment,rs,pods

kubectl create deployment two --image=nginx --replicas=2

kubectl rollout status deployment two | tail -1

kubectl delete deployment two --cascade=orphan

kubectl get rs -o jsonpath='{.items[0].metadata.ownerReferences}{"\n"}'

kubectl get rs,pods

kubectl create deployment two --image=nginx --replicas=2

kubectl rollout status deployment two | tail -1

# The new one has taken over what was left.
kubectl get rs -o jsonpath='{.items[*].metadata.ownerReferences[0].name}'

kubectl delete rs --all

until_is '2 2' kubectl get deployment two -o jsonpath='{.status.replicas} {.status.readyReplicas}'

kubectl delete deployment two --wait=false

until_is 'No resources found in deletion namespace.' kubectl get all

kubectl apply -f - <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: mymap, finalizers: [kubernetes]}
END

kubectl delete configmap/mymap --wait=false

kubectl get configmap/mymap -o jsonpath='{.metadata.deletionGracePeriodSeconds} {.metadata.finalizers}'

kubectl patch configmap/mymap --type json --patch='[{"op":"remove","path":"/metadata/finalizers"}]'

kubectl get configmap/mymap

# Owners.
kubectl create configmap mymap-parent

kubectl apply -f - <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: mymap-child
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: mymap-parent, uid: $(kubectl get configmap mymap-parent -o jsonpath='{.metadata.uid}')}
END

kubectl delete configmap mymap-parent

kubectl wait configmap/mymap-child --for=delete --timeout=30s

kubectl create configmap mymap-parent

kubectl apply -f - <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: mymap-child
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: mymap-parent, uid: $(kubectl get configmap mymap-parent -o jsonpath='{.metadata.uid}')}
END

kubectl delete --cascade=orphan configmap/mymap-parent

kubectl get configmap mymap-child -o jsonpath='{.metadata.ownerReferences}'

kubectl apply -f - <<END
apiVersion: v1
kind: ConfigMap
metadata:
  name: lost-child
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: nobody, uid: 11111111-2222-3333-4444-555555555555}
END

kubectl wait configmap/lost-child --for=delete --timeout=30s

# A namespace with things in it.
kubectl create namespace doomed

kubectl wait -n doomed serviceaccount/default --for=create --timeout=30s

kubectl create deployment web --image=nginx --replicas=2 -n doomed

kubectl create configmap c -n doomed

kubectl patch configmap c -n doomed --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'

kubectl rollout status deployment web -n doomed | tail -1

kubectl get all,cm,sa -n doomed

kubectl delete namespace doomed --wait=false

until_is 'No resources found in doomed namespace.' kubectl get pods -n doomed

kubectl get namespace doomed

until_is True kubectl get namespace doomed -o jsonpath='{.status.conditions[?(@.type=="NamespaceFinalizersRemaining")].status}'

kubectl describe namespace doomed

kubectl get namespace doomed -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl create configmap d -n doomed

kubectl patch configmap c -n doomed --type=merge -p '{"metadata":{"finalizers":null}}'

kubectl wait namespace/doomed --for=delete --timeout=60s

kubectl get namespace doomed

kubectl delete namespace kube-system

kubectl create namespace brief

kubectl delete namespace brief

kubectl delete serviceaccount default

kubectl wait serviceaccount/default --for=create --timeout=20s

kubectl delete configmap kube-root-ca.crt

kubectl wait configmap/kube-root-ca.crt --for=create --timeout=20s

kubectl get sa,cm

kubectl run held --image=nginx

kubectl wait --for=condition=Ready pod/held

kubectl patch pod held -p '{"metadata":{"finalizers":["example.com/hold"]}}'

kubectl delete pod held --grace-period=1 --wait=false

kubectl wait pod/held --for=jsonpath='{.status.phase}'=Failed --timeout=10s

kubectl get pod held

kubectl describe pod held

kubectl patch pod held --type=merge -p '{"metadata":{"finalizers":null}}'

kubectl wait pod/held --for=delete --timeout=10s

kubectl run a --image=nginx; kubectl run b --image=nginx

kubectl delete pods --all --grace-period=0 --force --wait=false

kubectl wait --for=delete pod a b --timeout=20s

kubectl delete all --all
