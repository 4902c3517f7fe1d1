# Other strategies, and what the API says no to.

kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: once, labels: {app: once}}
spec:
  replicas: 3
  strategy: {type: Recreate}
  minReadySeconds: 1
  selector: {matchLabels: {app: once}}
  template:
    metadata: {labels: {app: once}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: "nginx:1"}
END

kubectl rollout status deployment/once | tail -1

kubectl describe deployment once

kubectl set image deployment/once main=nginx:2

kubectl rollout status deployment/once | tail -1

kubectl describe deployment once | sed '/^Events/,$d'

kubectl get events --field-selector involvedObject.name=once -o custom-columns=R:.reason,M:.message | sort

kubectl get events --field-selector involvedObject.kind=ReplicaSet -o custom-columns=R:.reason,M:.message,S:.source.component | sort

kubectl get rs --no-headers | sort -k2

kubectl patch deployment once -p '{"spec":{"selector":{"matchLabels":{"app":"twice"}}}}'

kubectl patch deployment once -p '{"spec":{"template":{"metadata":{"labels":{"app":"twice"}}}}}'

kubectl patch deployment once -p '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1}}}}'

kubectl patch deployment once -p '{"spec":{"replicas":-1}}'

kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: canary}
spec:
  replicas: 10
  strategy: {rollingUpdate: {maxSurge: 30%, maxUnavailable: 20%}}
  selector: {matchLabels: {app: canary}}
  template:
    metadata: {labels: {app: canary}}
    spec:
      containers:
      - {name: main, image: "nginx:1"}
END

kubectl rollout status deployment/canary | tail -1

kubectl patch deployment canary -p '{"spec":{"template":{"metadata":{"annotations":{"stowplan.dev/fail-probes":"readiness"}},"spec":{"containers":[{"name":"main","image":"nginx:2","readinessProbe":{"tcpSocket":{"port":80},"periodSeconds":1}}]}}}}'

until_is '13 5 8' kubectl get deployment canary -o jsonpath='{.status.replicas} {.status.updatedReplicas} {.status.availableReplicas}'

kubectl get rs -l app=canary --no-headers | awk '{print $2, $3, $4}' | sort

# In the middle of a rollout: in proportion.
kubectl scale deployment canary --replicas=15

until_is 20 kubectl get deployment canary -o jsonpath='{.status.replicas}'

kubectl get rs -l app=canary --no-headers | awk '{print $2, $3, $4}' | sort

kubectl get deployment canary

kubectl rollout undo deployment canary

kubectl rollout status deployment/canary | tail -1

kubectl get rs -l app=canary --no-headers | awk '{print $2, $3, $4}' | sort

kubectl delete deployment canary once

# Of somebody else's pods.
kubectl run stray --image=nginx --labels=app=web

kubectl wait --for=condition=Ready pod/stray

kubectl create deployment web --image=nginx --replicas=1

kubectl rollout status deployment/web | tail -1

kubectl get pods -l app=web | sort

kubectl delete deployment web --cascade=foreground

kubectl get deployment,rs,pods
