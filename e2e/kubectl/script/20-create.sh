# create: files, generators, refusals.

kubectl create configmap c1 --from-literal=a=1 --from-literal=b=2

kubectl create configmap c2 --from-file=hello.txt --from-file=key=hello.txt

kubectl create configmap c3 --from-env-file=settings.env

kubectl get configmaps c1 c2 c3 -o yaml

kubectl describe configmap c2

kubectl create configmap c1

kubectl create configmap Bad_Name

kubectl create secret generic s1 --from-literal=password=secret

kubectl create secret docker-registry s2 --docker-server=r.example.com --docker-username=u --docker-password=p

kubectl get secrets -o yaml

kubectl describe secret s1

kubectl create deployment d1 --image=nginx --replicas=2 --port=80

kubectl create deployment d2 --image=nginx --image=busybox -- sleep 5

kubectl get deployment d1 -o yaml

kubectl create job j1 --image=busybox -- date

kubectl create cronjob cj1 --image=busybox --schedule='*/5 * * * *' -- date

kubectl create cronjob cj2 --image=busybox --schedule='bad'

kubectl create job j2 --from=cronjob/cj1

kubectl get job j2 -o jsonpath='{.metadata.annotations} {.metadata.ownerReferences[0].kind}'

kubectl create service clusterip s1 --tcp=80:8080

kubectl create service nodeport s2 --tcp=80

kubectl create service loadbalancer s3 --tcp=80

kubectl create service externalname s4 --external-name=example.com

kubectl get services s1 s2 s3 s4 -o yaml

kubectl get services s1 s2 s3 s4

kubectl describe service s2

kubectl create ingress i1 --rule='example.com/path*=s1:80'

kubectl get ingress i1 -o yaml

kubectl describe ingress i1

kubectl create poddisruptionbudget p1 --selector=app=web --min-available=1

kubectl get pdb p1 -o yaml

kubectl delete pdb p1

kubectl create priorityclass high --value=1000 --description=high --preemption-policy=Never

kubectl get priorityclass high -o yaml

kubectl create priorityclass system-mine --value=2000000001

kubectl create quota q1 -n team --hard=pods=3,cpu=2

kubectl describe quota q1 -n team

kubectl create role r1 --verb=get,list --resource=pods --resource=deployments.apps

kubectl create rolebinding rb1 --role=r1 --user=jane --group=devs --serviceaccount=default:default

kubectl create clusterrole cr1 --verb=get --non-resource-url=/healthz

kubectl create clusterrole cr2 --aggregation-rule=x=y

kubectl create clusterrolebinding crb1 --clusterrole=view --user=joe

kubectl get role,rolebinding -o yaml

kubectl get role,rolebinding,clusterrolebinding/crb1 -o wide

kubectl describe rolebinding rb1

kubectl describe role r1

kubectl create serviceaccount robot

kubectl create token robot --duration=10m | cut -d. -f1 | wc -l

kubectl create token robot --duration=1s

kubectl create token nobody

kubectl run one --image=nginx --labels=app=one --overrides='{"spec":{"schedulerName":"nobody"}}'

kubectl get pod one -o yaml

kubectl run two --image=nginx --dry-run=client -o yaml

kubectl run two --image=nginx --dry-run=server -o name

kubectl expose deployment d1 --port=80 --target-port=8080 --name=exposed

kubectl expose pod one --port=80

kubectl autoscale deployment d1 --min=1 --max=3 --cpu-percent=50

kubectl get hpa d1 -o yaml

kubectl get hpa

kubectl create -f broken.yaml

kubectl create -f broken.yaml --validate=warn

kubectl create -f broken.yaml --validate=false

kubectl create -f pods.yaml

kubectl create -f nothing.yaml

kubectl create -f unknown.yaml

kubectl create namespace Team

kubectl create configmap c9 -n nowhere

# The order of keys is not compared.
kubectl create --raw /api/v1/namespaces/default/configmaps -f - <<'Y' | tr ',{}' '\n\n\n' | sort -u
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw"}}
Y

kubectl create -n team -f quota.yaml

kubectl delete deployment d1 d2

kubectl delete all -l app=one
