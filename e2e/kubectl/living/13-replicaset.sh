# ReplicaSets and ReplicationControllers: adoption, isolation, orphans.

kubectl apply -f - <<END
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: frontend
  labels: {app: guestbook, tier: frontend}
spec:
  replicas: 3
  selector: {matchLabels: {tier: frontend}}
  template:
    metadata: {labels: {tier: frontend}}
    spec:
      containers:
      - name: php-redis
        image: us-docker.pkg.dev/google-samples/containers/gke/gb-frontend:v5
END

kubectl wait rs/frontend --for=jsonpath='{.status.readyReplicas}'=3

kubectl get rs

kubectl describe rs/frontend

kubectl get pods

kubectl get pods -o jsonpath='{range .items[*]}{.metadata.generateName} {.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name} {.metadata.ownerReferences[0].controller} {.metadata.ownerReferences[0].blockOwnerDeletion}{"\n"}{end}'

# One leaves, one comes.
kubectl label $(kubectl get pods -l tier=frontend -o name | head -1) tier=other --overwrite

until_is 4 bash -c 'kubectl get pods --no-headers | grep -c Running'

kubectl get pods -l tier=other -o jsonpath='{.items[0].metadata.ownerReferences}{"\n"}'

kubectl get pods -l tier=other -o name | wc -l

# It comes back: one too many.
kubectl label pods -l tier=other tier=frontend --overwrite

until_is 3 bash -c 'kubectl get pods -l tier=frontend -o name | wc -l'

kubectl describe rs frontend

kubectl delete rs frontend --cascade=orphan

kubectl get rs

kubectl get pods -o jsonpath='{range .items[*]}{.metadata.ownerReferences}{"\n"}{end}'

kubectl create -f - <<END
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: adopter}
spec:
  replicas: 3
  selector: {matchLabels: {tier: frontend}}
  template:
    metadata: {labels: {tier: frontend}}
    spec:
      containers:
      - {name: main, image: nginx}
END

until_is 'adopter adopter adopter' kubectl get pods -o jsonpath='{.items[*].metadata.ownerReferences[0].name}'

kubectl describe rs adopter

kubectl delete pod -l tier=frontend --grace-period=0 --force

until_is 3 bash -c 'kubectl get pods --no-headers | grep -c Running'

kubectl delete rs adopter --cascade=background

until_is 'No resources found in replicaset namespace.' kubectl get pods

kubectl apply -f - <<END
apiVersion: v1
kind: ReplicationController
metadata: {name: nginx}
spec:
  replicas: 3
  selector: {app: nginx}
  template:
    metadata: {name: nginx, labels: {app: nginx}}
    spec:
      containers:
      - {name: nginx, image: nginx, ports: [{containerPort: 80}]}
END

kubectl wait rc/nginx --for=jsonpath='{.status.readyReplicas}'=3

kubectl describe replicationcontrollers/nginx

kubectl get rc -o wide

kubectl scale rc nginx --replicas=1

kubectl wait rc/nginx --for=jsonpath='{.status.replicas}'=1

kubectl get rc nginx -o jsonpath='{.status}'

kubectl delete rc nginx

# A set that may not create.
kubectl create quota none --hard=pods=1

kubectl wait quota none --for=jsonpath='{.status.used.pods}'=0

kubectl create -f - <<END
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: held}
spec:
  replicas: 3
  selector: {matchLabels: {app: held}}
  template:
    metadata: {labels: {app: held}}
    spec:
      containers:
      - {name: main, image: nginx}
END

kubectl wait rs/held --for=jsonpath='{.status.readyReplicas}'=1

until_is 'ReplicaFailure True FailedCreate' kubectl get rs held -o jsonpath='{.status.conditions[0].type} {.status.conditions[0].status} {.status.conditions[0].reason}'

kubectl get rs held -o jsonpath='{.status.conditions[0].message}'

kubectl describe rs held

kubectl delete quota none

until_is 3 bash -c 'kubectl get pods -l app=held --no-headers | grep -c Running'

kubectl get rs held -o jsonpath='{.status}'
