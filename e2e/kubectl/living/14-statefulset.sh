# StatefulSet basics.

kubectl apply -f - <<END
apiVersion: v1
kind: Service
metadata:
  name: nginx
  labels:
    app: nginx
spec:
  ports:
  - port: 80
    name: web
  clusterIP: None
  selector:
    app: nginx
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
spec:
  serviceName: "nginx"
  replicas: 2
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: nginx
        image: registry.k8s.io/nginx-slim:0.21
        ports:
        - containerPort: 80
          name: web
        volumeMounts:
        - name: www
          mountPath: /usr/share/nginx/html
  volumeClaimTemplates:
  - metadata:
      name: www
    spec:
      accessModes: [ "ReadWriteOnce" ]
      resources:
        requests:
          storage: 1Gi
END

kubectl rollout status statefulset/web | tail -1

kubectl get service nginx

kubectl get statefulset web

kubectl get statefulset web -o wide

kubectl get pods -l app=nginx

kubectl get pvc -l app=nginx

kubectl get pvc -l app=nginx -o wide

kubectl describe statefulset web

kubectl describe pod web-0

kubectl describe pvc www-web-0

kubectl get pod web-0 -o jsonpath='{.metadata.labels}{"\n"}{.spec.hostname} {.spec.subdomain}{"\n"}{.spec.volumes[0]}{"\n"}'

kubectl get endpointslices -l kubernetes.io/service-name=nginx -o jsonpath='{.items[0].endpoints[*].hostname}'

kubectl get statefulset web -o yaml

kubectl get controllerrevisions

kubectl delete pod -l app=nginx

kubectl wait statefulset/web --for=jsonpath='{.status.readyReplicas}'=2

until_is 'web-0 web-1' kubectl get pods -l app=nginx -o jsonpath='{.items[*].metadata.name}'

kubectl scale sts web --replicas=5

kubectl rollout status sts/web | tail -1

kubectl wait sts/web --for=jsonpath='{.status.readyReplicas}'=5

kubectl get pods -l app=nginx

kubectl patch sts web -p '{"spec":{"replicas":3}}'

kubectl wait sts/web --for=jsonpath='{.status.replicas}'=3

until_is 3 bash -c 'kubectl get pods -l app=nginx -o name | wc -l'

kubectl get pvc -l app=nginx

kubectl patch statefulset web --type='json' -p='[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value":"registry.k8s.io/nginx-slim:0.24"}]'

kubectl rollout status sts/web | tail -1

for p in 0 1 2; do kubectl get pod "web-$p" --template '{{range $i, $c := .spec.containers}}{{$c.image}}{{end}}'; echo; done

kubectl rollout history sts/web

kubectl rollout history sts/web --revision=2

kubectl patch statefulset web -p '{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":3}}}}'

kubectl set image sts/web nginx=registry.k8s.io/nginx-slim:0.21

kubectl delete pod web-2

kubectl wait --for=jsonpath='{.status.readyReplicas}'=3 sts/web

kubectl get pod web-2 --template '{{range $i, $c := .spec.containers}}{{$c.image}}{{end}}'

kubectl patch statefulset web -p '{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}}}'

kubectl rollout status sts/web | tail -1

kubectl get statefulset web -o jsonpath='{.status.replicas} {.status.readyReplicas} {.status.currentReplicas} {.status.updatedReplicas} {.status.availableReplicas} {.status.observedGeneration}'

kubectl patch statefulset web -p '{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}}}'

kubectl rollout status sts/web | tail -1

kubectl get statefulset web -o jsonpath='{.status.replicas} {.status.readyReplicas} {.status.currentReplicas} {.status.updatedReplicas} {.status.availableReplicas}'

kubectl rollout undo sts/web

kubectl rollout status sts/web | tail -1

kubectl rollout history sts/web

kubectl rollout restart sts/web

kubectl rollout status sts/web | tail -1

kubectl get controllerrevisions --no-headers | awk '{print $2, $3}' | sort

kubectl patch statefulset web -p '{"spec":{"serviceName":"other"}}'

kubectl get events --field-selector involvedObject.name=web -o custom-columns=R:.reason,M:.message,S:.source.component | sort -u

kubectl delete statefulset web --cascade=orphan

kubectl get pods -l app=nginx

kubectl delete pod web-0

kubectl apply -f - <<END
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
spec:
  serviceName: "nginx"
  replicas: 2
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: nginx
        image: registry.k8s.io/nginx-slim:0.24
        ports:
        - containerPort: 80
          name: web
        volumeMounts:
        - name: www
          mountPath: /usr/share/nginx/html
  volumeClaimTemplates:
  - metadata:
      name: www
    spec:
      accessModes: [ "ReadWriteOnce" ]
      resources:
        requests:
          storage: 1Gi
END

kubectl wait sts/web --for=jsonpath='{.status.readyReplicas}'=2

until_is 'web-0 web-1' kubectl get pods -l app=nginx -o jsonpath='{.items[*].metadata.name}'

kubectl get pvc www-web-0 www-web-1 www-web-2 -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.ownerReferences[*].kind}{"\n"}{end}'

kubectl scale sts/web --replicas=1

kubectl wait pvc/www-web-1 --for=delete --timeout=30s

kubectl delete sts web

kubectl wait pvc/www-web-0 --for=delete --timeout=30s

kubectl get pvc

kubectl delete service nginx

kubectl apply -f - <<END
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: parallel
spec:
  serviceName: nginx
  podManagementPolicy: Parallel
  replicas: 3
  ordinals: {start: 5}
  minReadySeconds: 1
  selector: {matchLabels: {app: parallel}}
  template:
    metadata: {labels: {app: parallel}}
    spec:
      containers:
      - {name: main, image: nginx}
END

kubectl wait sts/parallel --for=jsonpath='{.status.availableReplicas}'=3

kubectl get pods -l app=parallel

kubectl describe sts parallel

kubectl delete sts parallel --cascade=foreground

kubectl get sts,pods -l app=parallel

# Stuck on its first pod.
kubectl apply -f - <<END
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: stuck}
spec:
  serviceName: nginx
  replicas: 3
  selector: {matchLabels: {app: stuck}}
  template:
    metadata:
      labels: {app: stuck}
      annotations: {stowplan.dev/fail-probes: readiness}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: nginx, readinessProbe: {exec: {command: [cat, /tmp/healthy]}, periodSeconds: 1}}
END

kubectl wait --for=jsonpath='{.status.phase}'=Running pod/stuck-0

kubectl get sts stuck

kubectl rollout status sts/stuck --timeout=1s

kubectl patch sts stuck -p '{"spec":{"template":{"metadata":{"annotations":{"stowplan.dev/fail-probes":null}}}}}'

kubectl delete pod stuck-0

kubectl rollout status sts/stuck | tail -1

kubectl get pods -l app=stuck
