# describe.

kubectl describe node n1

kubectl describe nodes n2

kubectl describe pod web-1

kubectl describe pod web-2

kubectl describe pod waiting

kubectl describe deployment shop

kubectl describe statefulset db

kubectl describe daemonset agent

kubectl describe replicaset rs

kubectl describe job once |
  sed -E 's/controller-uid=.*/controller-uid=UID/'

kubectl describe cronjob nightly

kubectl describe service db

kubectl describe service kubernetes

kubectl describe namespace team

kubectl describe pv pv1

kubectl describe pvc claim

kubectl describe storageclass slow

# kubectl goes by the order of a Go map.
kubectl describe limitrange limits |
  sort

kubectl describe lease leader

kubectl describe networkpolicy closed

kubectl describe priorityclass system-cluster-critical

kubectl describe clusterrole view

kubectl describe clusterrolebinding cluster-admin

kubectl describe pods -l app=web --show-events=false

kubectl describe pod nobody
