# Alone: Preemption.

kubectl apply -f - <<END
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 100
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10000
END

kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: batch}
spec:
  replicas: 3
  selector: {matchLabels: {app: batch}}
  template:
    metadata: {labels: {app: batch}}
    spec:
      priorityClassName: low
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: nginx, resources: {requests: {cpu: "6"}}}
END

kubectl rollout status deployment batch | tail -1

kubectl run urgent --image=nginx --overrides='{"spec":{"priorityClassName":"high","containers":[{"name":"urgent","image":"nginx","resources":{"requests":{"cpu":"5"}}}]}}'

kubectl wait --for=condition=Ready pod/urgent --timeout=60s

kubectl get pods --no-headers | awk '{print $2, $3}' | sort

kubectl describe pod urgent

kubectl get events --field-selector reason=Preempted -o custom-columns=T:.type,R:.reason,M:.message,S:.source.component,C:.reportingComponent,A:.action

until_is 'batch Pending' bash -c "kubectl get pods -l app=batch --field-selector=status.phase=Pending -o jsonpath='{.items[0].metadata.labels.app} {.items[0].status.phase}'"

kubectl describe pods -l app=batch | grep FailedScheduling | sort -u

kubectl run polite --image=nginx --overrides='{"spec":{"priorityClassName":"low","containers":[{"name":"polite","image":"nginx","resources":{"requests":{"cpu":"5"}}}]}}'

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/polite

kubectl describe pod polite

kubectl create pdb batch --selector=app=batch --max-unavailable=0

kubectl run urgent-2 --image=nginx --overrides='{"spec":{"priorityClassName":"high","containers":[{"name":"urgent","image":"nginx","resources":{"requests":{"cpu":"5"}}}]}}'

kubectl wait --for=condition=Ready pod/urgent-2 --timeout=60s

kubectl get pods --no-headers | awk '{print $2, $3}' | sort

kubectl delete pod urgent urgent-2 polite --now

kubectl rollout status deployment batch | tail -1

kubectl delete deployment batch

kubectl delete priorityclass low high
