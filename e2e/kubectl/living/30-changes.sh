# apply, diff, edit, patch, set, label, annotate on living things.

cat > web.yaml <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: nginx, image: "nginx:1.25", ports: [{containerPort: 80}]}
END
kubectl apply -f web.yaml

kubectl rollout status deployment web | tail -1

kubectl apply -f web.yaml

sed -i 's/1.25/1.26/' web.yaml; kubectl diff -f web.yaml | grep -v '^[-+][-+]\|^diff'

kubectl apply -f web.yaml

kubectl rollout status deployment web | tail -1

kubectl scale deployment web --replicas=4; kubectl apply -f web.yaml --prune=false

kubectl rollout status deployment web | tail -1

kubectl apply --server-side -f web.yaml

kubectl apply --server-side --force-conflicts -f web.yaml

kubectl apply view-last-applied deployment/web

KUBE_EDITOR="sed -i s/1.26/1.27/" kubectl edit deployment web

kubectl rollout status deployment web | tail -1

KUBE_EDITOR="true" kubectl edit deployment web

kubectl set env deployment/web STORAGE_DIR=/local

kubectl set env deployment/web --list

kubectl set resources deployment web --limits=cpu=200m,memory=512Mi --requests=cpu=100m,memory=256Mi

kubectl set serviceaccount deployment web nobody

until_is FailedCreate kubectl get deployment web -o jsonpath='{.status.conditions[?(@.type=="ReplicaFailure")].reason}'

kubectl get deployment web -o jsonpath='{.status.conditions[?(@.type=="ReplicaFailure")].message}'

kubectl create sa nobody

kubectl rollout status deployment web --timeout=60s | tail -1

kubectl get pods -l app=web -o jsonpath='{.items[0].spec.serviceAccountName} {.items[0].spec.containers[0].env} {.items[0].spec.containers[0].resources}'

kubectl describe deployment web | sed '/^OldReplica/,$d'

kubectl label deployment web tier=front

kubectl label pods -l app=web unhealthy=true | wc -l

kubectl label deployment web tier-

kubectl label deployment web app=other

kubectl annotate pods -l app=web description='my frontend' | wc -l

kubectl annotate deployment web a-

kubectl patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"patch-demo-ctr-2","image":"redis"}]}}}}'

kubectl rollout status deployment web | tail -1

kubectl get pods -l app=web | sort -u | head -2

kubectl patch deployment web --type=json -p '[{"op":"remove","path":"/spec/template/spec/containers/0"}]'

kubectl rollout status deployment web | tail -1

kubectl patch deployment web --type=merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"patch-demo-ctr-3","image":"gcr.io/google-samples/hello-app:2.0"}]}}}}'

kubectl rollout status deployment web | tail -1

kubectl get deployment web -o jsonpath='{.spec.template.spec.containers}'

kubectl get deployment web --subresource=status

kubectl get deployment web --subresource=scale

kubectl patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":1}}'

kubectl wait deployment/web --for=jsonpath='{.status.replicas}'=1

kubectl set image pod/$(kubectl get pods -l app=web -o jsonpath='{.items[0].metadata.name}') patch-demo-ctr-3=nginx

until_is 1 kubectl get pods -l app=web -o jsonpath='{.items[0].status.containerStatuses[0].restartCount}'

kubectl get pods -l app=web

kubectl describe pods -l app=web

kubectl replace --force -f web.yaml

kubectl rollout status deployment web | tail -1

kubectl autoscale deployment web --min=2 --max=5 --cpu=80%

kubectl get hpa web -o jsonpath='{.spec}'

kubectl get hpa web --no-headers | awk '{print $1, $2}'

kubectl delete hpa web

kubectl delete -f web.yaml

until_is 'No resources found in changes namespace.' kubectl get pods
