# What the server says about itself and about its users.

kubectl explain pod

kubectl explain pod.spec.affinity.podAntiAffinity --recursive

kubectl explain deployment.spec.strategy

kubectl explain pods.spec.containers.resources.limits

kubectl explain cronjobs --api-version=batch/v1

kubectl explain pod.spec.nothing

kubectl explain nothing

kubectl explain node.status.conditions --output=plaintext-openapiv2

kubectl api-resources

kubectl api-resources --api-group=apps

kubectl api-resources --api-group='' -o wide

kubectl api-resources --namespaced=false -o name --api-group=scheduling.k8s.io

kubectl api-resources --api-group=batch -o wide --sort-by=name

kubectl api-resources --categories=all -o name

kubectl api-resources --verbs=list,create --api-group=policy

kubectl api-versions

kubectl auth can-i create pods

kubectl auth can-i create pods --as=nobody

kubectl auth can-i get pods --as=jack

kubectl auth can-i get pods/log --as=system:serviceaccount:default:default

kubectl auth can-i '*' '*'

kubectl auth can-i list nodes --as=joe

kubectl auth can-i get /healthz --as=nobody

kubectl auth can-i create nothing

kubectl auth can-i --list --as=jack

kubectl auth can-i --list --as=nobody

kubectl auth whoami

kubectl auth whoami -o yaml --as=jack --as-group=devs

kubectl get pods --as=nobody

kubectl create configmap x --as=jack

kubectl get nodes --as=joe -o name

kubectl auth reconcile -f - --dry-run=client <<'Y'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r1, namespace: default}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
Y

kubectl auth reconcile -f - <<'Y'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r1, namespace: default}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
Y

kubectl version | grep -v Client

kubectl cluster-info

kubectl config view --minify | sed -E 's/(kubernetes|stowplan)(-admin)?/NAME/; s/certificate-authority.*/CA/'

printf '%s\n' 'apiVersion: v1' 'kind: Config' 'clusters: [{name: other, cluster: {server: "https://other.example.com"}}]' 'users: [{name: other, user: {token: x}}]' 'contexts: [{name: other, context: {cluster: other, user: other}}]' 'current-context: other' > other.config
KUBECONFIG=$KUBECONFIG:other.config kubectl config view --flatten > merged.config
KUBECONFIG=merged.config kubectl config get-contexts -o name | wc -l
KUBECONFIG=merged.config kubectl get namespace default -o name
KUBECONFIG=merged.config kubectl config use-context other
KUBECONFIG=merged.config kubectl config current-context

kubectl --token=wrong get pods

kubectl options | head -3

kubectl top nodes

kubectl logs waiting

kubectl get clusterroles admin edit view cluster-admin system:kube-scheduler -o name

kubectl get clusterrole edit view admin -o yaml
