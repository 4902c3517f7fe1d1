# Run a stateless application: a Deployment, seen from all sides.

kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx-deployment
spec:
  selector:
    matchLabels:
      app: nginx
  replicas: 2
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: nginx:1.14.2
        ports:
        - containerPort: 80
END

kubectl rollout status deployment/nginx-deployment | tail -1

kubectl get deployments

kubectl get deployment nginx-deployment -o wide

kubectl describe deployment nginx-deployment

kubectl get rs

kubectl get rs -o wide

kubectl describe rs -l app=nginx

kubectl get pods --show-labels

kubectl get pods -o wide

kubectl describe pod -l app=nginx

kubectl get pods -l app=nginx -o yaml

kubectl get deployment nginx-deployment -o yaml

kubectl get rs -o yaml

kubectl get all

kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx-deployment
spec:
  selector:
    matchLabels:
      app: nginx
  replicas: 4
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: nginx:1.16.1
        ports:
        - containerPort: 80
END

kubectl rollout status deployment nginx-deployment | tail -1

until_is 4 bash -c 'kubectl get pods -l app=nginx --no-headers | wc -l'

kubectl get pods -l app=nginx

kubectl get rs | sort -k2

kubectl describe deployment nginx-deployment | sed '/^Events/,$d'

# The steps in between depend on the moment.
kubectl get events --field-selector involvedObject.kind=Deployment -o custom-columns=R:.reason,S:.source.component,T:.type | sort -u

kubectl scale deployment/nginx-deployment --replicas=1

kubectl wait --for=jsonpath='{.status.replicas}'=1 deployment/nginx-deployment

kubectl scale deployment/nginx-deployment --current-replicas=3 --replicas=2

kubectl scale deployment/nginx-deployment --current-replicas=1 --replicas=0

until_is '' kubectl get pods -l app=nginx -o name

kubectl get deployment,rs

kubectl delete deployment nginx-deployment

until_is 'No resources found in stateless namespace.' kubectl get rs,pods

kubectl get deployments
