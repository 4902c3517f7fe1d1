# Rollouts: history, undo, pause, resume, restart, deadlines.

kubectl create deployment web --image=nginx:1.25 --replicas=3

kubectl rollout status deployment/web --timeout=60s | tail -1

kubectl annotate deployment/web kubernetes.io/change-cause="first"

kubectl rollout history deployment/web

kubectl set image deployment/web nginx=nginx:1.26

kubectl annotate deployment/web kubernetes.io/change-cause="image updated to 1.26"

kubectl rollout status deployment/web | tail -1

kubectl rollout history deployment/web

kubectl rollout history deployment/web --revision=2

kubectl rollout history deployment/web --revision=9

kubectl rollout undo deployment/web

kubectl rollout status deployment/web | tail -1

kubectl rollout history deployment/web

kubectl get deployment web -o jsonpath='{.spec.template.spec.containers[0].image}{"\n"}{.metadata.annotations}{"\n"}{.metadata.generation} {.status.observedGeneration}{"\n"}'

kubectl rollout undo deployment/web

kubectl rollout status deployment/web | tail -1

kubectl rollout undo deployment/web --to-revision=3

kubectl rollout status deployment/web | tail -1

kubectl rollout undo deployment/web --to-revision=3

kubectl rollout undo deployment/web --to-revision=77

kubectl rollout undo deployment/web --dry-run=server

kubectl rollout history deployment/web

kubectl rollout pause deployment/web

until_is Unknown:DeploymentPaused kubectl get deployment web -o jsonpath='{.status.conditions[?(@.type=="Progressing")].status}:{.status.conditions[?(@.type=="Progressing")].reason}'

kubectl rollout pause deployment/web

kubectl set image deployment/web nginx=nginx:1.27

kubectl set resources deployment/web -c=nginx --limits=cpu=200m,memory=64Mi

kubectl rollout undo deployment/web

kubectl rollout restart deployment/web

kubectl wait deployment/web --for=jsonpath='{.status.observedGeneration}'=$(kubectl get deployment web -o jsonpath='{.metadata.generation}')

kubectl describe deployment web | sed '/^Events/,$d'

kubectl get rs | sort -k2

kubectl rollout resume deployment/web

kubectl rollout resume deployment/web

kubectl rollout status deployment/web | tail -1

kubectl rollout history deployment/web

kubectl get deployment web -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl rollout restart deployment/web

kubectl rollout status deployment/web | tail -1

kubectl get deployment web -o jsonpath='{.spec.template.metadata.annotations}'

kubectl get rs -l app=web --sort-by='{.metadata.annotations.deployment\.kubernetes\.io/revision}' -o custom-columns='REVISION:.metadata.annotations.deployment\.kubernetes\.io/revision,HISTORY:.metadata.annotations.deployment\.kubernetes\.io/revision-history,DESIRED:.metadata.annotations.deployment\.kubernetes\.io/desired-replicas,MAX:.metadata.annotations.deployment\.kubernetes\.io/max-replicas,WANTS:.spec.replicas,IMAGE:.spec.template.spec.containers[0].image'

kubectl patch deployment web -p '{"spec":{"revisionHistoryLimit":1}}'

until_is 2 bash -c 'kubectl get rs -l app=web -o name | wc -l'

kubectl rollout history deployment/web

kubectl get events --field-selector involvedObject.kind=Deployment -o custom-columns=R:.reason,S:.source.component,T:.type | sort -u

# A rollout that does not go on.
kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck}
spec:
  replicas: 2
  progressDeadlineSeconds: 3
  selector: {matchLabels: {app: stuck}}
  template:
    metadata:
      labels: {app: stuck}
      annotations: {stowplan.dev/fail-probes: readiness}
    spec:
      containers:
      - name: main
        image: nginx
        readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
END

kubectl rollout status deployment/stuck 2>&1 | tail -1

kubectl get deployment stuck -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl get deployment stuck

kubectl describe deployment stuck

kubectl get pods -l app=stuck

kubectl wait deployment/stuck --for=condition=Available --timeout=1s

kubectl rollout status deployment/stuck --watch=false; kubectl rollout status deployment/nothing

kubectl set image deployment/stuck main=nginx:2 --record=false

kubectl patch deployment stuck -p '{"spec":{"template":{"metadata":{"annotations":{"stowplan.dev/fail-probes":null}}}}}'

kubectl rollout status deployment/stuck | tail -1

kubectl get deployment stuck -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

# No room: quota and limits of surge.
kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: big}
spec:
  replicas: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  selector: {matchLabels: {app: big}}
  template:
    metadata: {labels: {app: big}}
    spec:
      containers:
      - {name: main, image: nginx, resources: {requests: {cpu: 10m}}}
END

kubectl rollout status deployment/big | tail -1

kubectl set resources deployment big --requests=cpu=100

until_is 1 bash -c 'kubectl get pods -l app=big --no-headers | grep -c Pending'

kubectl get pods -l app=big --no-headers | awk '{print $2, $3}' | sort

kubectl get deployment big

kubectl rollout undo deployment/big

kubectl rollout status deployment/big | tail -1

kubectl get deployment big -o jsonpath='{.status}' | tr ',' '\n' | grep -v Time
