# Quotas and limits of a namespace.

kubectl apply -f - <<END
apiVersion: v1
kind: ResourceQuota
metadata:
  name: mem-cpu-demo
spec:
  hard:
    requests.cpu: "1"
    requests.memory: 1Gi
    limits.cpu: "2"
    limits.memory: 2Gi
END

kubectl wait quota/mem-cpu-demo --for=jsonpath='{.status.used.limits\.cpu}'=0

kubectl get resourcequota mem-cpu-demo --output=yaml

kubectl get quota

kubectl run q1 --image=nginx

kubectl run q2 --image=nginx --overrides='{"spec":{"containers":[{"name":"q2","image":"nginx","resources":{"limits":{"memory":"800Mi","cpu":"800m"},"requests":{"memory":"600Mi","cpu":"400m"}}}]}}'

until_is 400m kubectl get quota mem-cpu-demo -o jsonpath='{.status.used.requests\.cpu}'

kubectl describe quota mem-cpu-demo

kubectl run q3 --image=redis --overrides='{"spec":{"containers":[{"name":"q3","image":"redis","resources":{"limits":{"memory":"1Gi","cpu":"800m"},"requests":{"memory":"700Mi","cpu":"400m"}}}]}}'

kubectl get quota mem-cpu-demo

kubectl describe namespace quota

kubectl delete pod q2 --now

until_is 0 kubectl get quota mem-cpu-demo -o jsonpath='{.status.used.requests\.cpu}'

kubectl delete quota mem-cpu-demo

kubectl apply -f - <<END
apiVersion: v1
kind: LimitRange
metadata:
  name: mem-limit-range
spec:
  limits:
  - default: {memory: 512Mi}
    defaultRequest: {memory: 256Mi}
    max: {memory: 1Gi, cpu: 800m}
    min: {memory: 100Mi, cpu: 100m}
    type: Container
  - type: PersistentVolumeClaim
    max: {storage: 2Gi}
    min: {storage: 1Gi}
  - type: Pod
    max: {cpu: "2"}
    maxLimitRequestRatio: {cpu: "4"}
END

kubectl describe limits mem-limit-range

kubectl get limitrange mem-limit-range -o yaml

kubectl run l1 --image=nginx

kubectl get pod l1 -o jsonpath='{.spec.containers[0].resources} {.metadata.annotations}'

kubectl describe pod l1 | sed -n '/^    Limits/,/^    Env/p'

kubectl run l2 --image=nginx --overrides='{"spec":{"containers":[{"name":"l2","image":"nginx","resources":{"limits":{"memory":"1536Mi"}}}]}}'

kubectl run l3 --image=nginx --overrides='{"spec":{"containers":[{"name":"l3","image":"nginx","resources":{"requests":{"memory":"50Mi"}}}]}}'

kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: small}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 500Mi}}
END

kubectl delete limitrange mem-limit-range

kubectl create quota objects --hard=pods=2,services=1,services.nodeports=0,persistentvolumeclaims=1,configmaps=3,secrets=1,count/deployments.apps=1,count/jobs.batch=1,requests.storage=2Gi

kubectl wait quota/objects --for=jsonpath='{.status.used.pods}'=1

kubectl describe quota objects

kubectl create deployment d1 --image=nginx --replicas=3

kubectl create deployment d2 --image=nginx

until_is 2 kubectl get quota objects -o jsonpath='{.status.used.pods}'

until_is 'ReplicaFailure FailedCreate' kubectl get deployment d1 -o jsonpath='{.status.conditions[?(@.type=="ReplicaFailure")].type} {.status.conditions[?(@.type=="ReplicaFailure")].reason}'

kubectl get deployment d1 -o jsonpath='{.status.conditions[?(@.type=="ReplicaFailure")].message}'

kubectl describe deployment d1

kubectl get deployment d1

kubectl create service nodeport np --tcp=80

kubectl create service clusterip s1 --tcp=80

kubectl create service clusterip s2 --tcp=80

kubectl create secret generic s1

kubectl create secret generic s2

kubectl create configmap c1; kubectl create configmap c2; kubectl create configmap c3

kubectl get quota objects

kubectl patch quota objects -p '{"spec":{"hard":{"pods":"4"}}}'

until_is '3' kubectl get deployment d1 -o jsonpath='{.status.readyReplicas}'

kubectl get deployment d1 -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl create quota best --hard=pods=0 --scopes=BestEffort

kubectl wait quota/best --for=jsonpath='{.status.used.pods}'=3

kubectl describe quota best

# Which of two quotas is named depends on the order of a Go map.
kubectl run be --image=nginx 2>&1 | sed 's/quota: .*/quota/'

kubectl create quota prio --hard=pods=1 --scopes=Nope

kubectl apply -f - <<END
apiVersion: v1
kind: ResourceQuota
metadata: {name: pods-high}
spec:
  hard: {cpu: "1000", memory: 200Gi, pods: "10"}
  scopeSelector:
    matchExpressions:
    - {operator: In, scopeName: PriorityClass, values: [high]}
END

kubectl wait quota/pods-high --for=jsonpath='{.status.used.pods}'=0

kubectl describe quota pods-high

kubectl get quota
