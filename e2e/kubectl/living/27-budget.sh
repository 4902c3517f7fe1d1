# Disruption budgets.

kubectl apply -f - <<END
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: zk-pdb}
spec:
  minAvailable: 2
  selector: {matchLabels: {app: zookeeper}}
END

until_is 1 kubectl get pdb zk-pdb -o jsonpath='{.status.observedGeneration}'

kubectl get poddisruptionbudgets

kubectl describe pdb zk-pdb

kubectl create deployment zookeeper --image=zookeeper --replicas=3

kubectl rollout status deployment zookeeper | tail -1

until_is 1 kubectl get pdb zk-pdb -o jsonpath='{.status.disruptionsAllowed}'

kubectl get pdb

kubectl get poddisruptionbudgets zk-pdb -o yaml

kubectl describe pdb zk-pdb

kubectl scale deployment zookeeper --replicas=2

until_is '0 2 2 2' kubectl get pdb zk-pdb -o jsonpath='{.status.disruptionsAllowed} {.status.currentHealthy} {.status.desiredHealthy} {.status.expectedPods}'

kubectl get pdb zk-pdb -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl create --raw /api/v1/namespaces/budget/pods/$(kubectl get pods -l app=zookeeper -o jsonpath='{.items[0].metadata.name}')/eviction -f - <<END
{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"$(kubectl get pods -l app=zookeeper -o jsonpath='{.items[0].metadata.name}')"}}
END

kubectl create pdb percent --selector=app=web --max-unavailable=30%

kubectl create deployment web --image=nginx --replicas=5

kubectl rollout status deployment web | tail -1

until_is '2 5 3 5' kubectl get pdb percent -o jsonpath='{.status.disruptionsAllowed} {.status.currentHealthy} {.status.desiredHealthy} {.status.expectedPods}'

kubectl describe pdb percent

kubectl get pdb percent

kubectl create --raw /api/v1/namespaces/budget/pods/$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}')/eviction -f - <<END | grep -o '"status":"[A-Za-z]*"'
{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}')"}}
END

until_is '2 5 3 5' kubectl get pdb percent -o jsonpath='{.status.disruptionsAllowed} {.status.currentHealthy} {.status.desiredHealthy} {.status.expectedPods}'

kubectl create pdb both --selector=app=web --min-available=1

kubectl create --raw /api/v1/namespaces/budget/pods/$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}')/eviction -f - <<END
{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}')"}}
END

kubectl run alone --image=nginx --labels=app=alone

kubectl create pdb alone --selector=app=alone --max-unavailable=1

kubectl wait --for=condition=Ready pod/alone

until_is UnmanagedPods kubectl get events --field-selector involvedObject.name=alone,involvedObject.kind=PodDisruptionBudget -o jsonpath='{.items[0].reason}'

kubectl describe pdb alone

kubectl get pdb

kubectl patch pdb percent -p '{"spec":{"maxUnavailable":0}}'

until_is 0 kubectl get pdb percent -o jsonpath='{.status.disruptionsAllowed}'

kubectl create pdb wrong --selector=app=x --min-available=-1

kubectl create pdb wrong --selector=app=x --min-available=1 --max-unavailable=1

kubectl delete pdb --all
