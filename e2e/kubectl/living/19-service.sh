# Services, Endpoints, EndpointSlices.

kubectl create deployment hello --image=nginx --replicas=2 --port=8080

kubectl rollout status deployment hello | tail -1

kubectl expose deployment hello --type=NodePort --name=example-service

kubectl get services example-service

kubectl describe services example-service

until_is 2 bash -c "kubectl get endpointslices -l kubernetes.io/service-name=example-service -o jsonpath='{.items[0].endpoints[*].conditions.ready}' | wc -w"

kubectl get endpoints example-service

kubectl get endpointslices -l kubernetes.io/service-name=example-service

kubectl describe endpointslices -l kubernetes.io/service-name=example-service

kubectl get endpointslices -l kubernetes.io/service-name=example-service -o yaml | sed '/^  - addresses/,/^  kind/d'

kubectl get endpointslices -l kubernetes.io/service-name=example-service -o jsonpath='{range .items[0].endpoints[*]}{.conditions} {.targetRef.kind} {.targetRef.name} {.nodeName}{"\n"}{end}'

kubectl get endpoints example-service -o yaml

kubectl describe endpoints example-service

kubectl scale deployment hello --replicas=1

until_is 1 bash -c "kubectl get endpointslices -l kubernetes.io/service-name=example-service -o jsonpath='{.items[0].endpoints[*].addresses[0]}' | wc -w"

kubectl describe service example-service

kubectl expose deployment hello --port=80 --target-port=8080 --name=inner

kubectl get svc inner -o jsonpath='{.spec.selector} {.spec.ports} {.spec.type} {.spec.sessionAffinity} {.spec.internalTrafficPolicy} {.spec.ipFamilyPolicy}'

kubectl create service clusterip named --tcp=5678:8080

kubectl describe svc named

kubectl create service externalname outside --external-name example.com

kubectl get svc outside

kubectl create service loadbalancer lb --tcp=80:80

kubectl get svc lb

kubectl describe svc lb

kubectl run pod --image=nginx --port=80 --expose

kubectl wait --for=condition=Ready pod/pod

until_is 1 bash -c "kubectl get endpointslices -l kubernetes.io/service-name=pod -o jsonpath='{.items[0].endpoints[*].addresses[0]}' | wc -w"

kubectl get svc,endpointslices,ep -l run=pod

kubectl get ep pod

# Pods that are not ready.
kubectl apply -f - <<END
apiVersion: v1
kind: Service
metadata: {name: slow}
spec:
  selector: {app: slow}
  publishNotReadyAddresses: false
  ports:
  - {name: http, port: 80, targetPort: web}
  - {name: metrics, port: 9090, targetPort: 9090, protocol: TCP}
---
apiVersion: v1
kind: Pod
metadata:
  name: slow
  labels: {app: slow}
  annotations: {stowplan.dev/fail-probes: readiness}
spec:
  containers:
  - name: main
    image: nginx
    ports: [{name: web, containerPort: 8080}]
    readinessProbe: {httpGet: {path: /, port: web}, periodSeconds: 1}
END

kubectl wait --for=jsonpath='{.status.phase}'=Running pod/slow

until_is false kubectl get endpointslices -l kubernetes.io/service-name=slow -o jsonpath='{.items[0].endpoints[0].conditions.ready}'

kubectl get endpointslices -l kubernetes.io/service-name=slow -o jsonpath='{.items[0].endpoints[0].conditions}{"\n"}{.items[0].ports}'

kubectl get ep slow

kubectl get ep slow -o jsonpath='{.subsets[0].notReadyAddresses[0].targetRef.name} {.subsets[0].ports}'

kubectl describe svc slow

kubectl apply -f - <<END
apiVersion: v1
kind: Service
metadata: {name: manual}
spec: {ports: [{port: 80, targetPort: 9376}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: manual-1, labels: {kubernetes.io/service-name: manual}}
addressType: IPv4
ports: [{name: '', protocol: TCP, port: 9376}]
endpoints: [{addresses: ["10.4.5.6"]}, {addresses: ["10.1.2.3"]}]
END

kubectl describe svc manual

kubectl delete svc example-service inner named outside lb pod slow manual

kubectl delete endpointslice manual-1

until_is 'No resources found in service namespace.' kubectl get endpointslices

kubectl get ep,svc

kubectl create ingress web --class=nginx --rule="foo.com/bar=svc1:8080,tls=my-cert"

kubectl describe ingress web
