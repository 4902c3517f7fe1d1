# wait, events, drain, delete.

kubectl wait pod web-1 --for=condition=Ready --timeout=1s

kubectl patch pod web-1 --subresource=status --type=merge -p '{"status":{"phase":"Running","podIP":"192.0.2.10","podIPs":[{"ip":"192.0.2.10"}],"hostIP":"192.0.2.1","startTime":"2026-01-02T03:04:05Z","conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}],"containerStatuses":[{"name":"web","ready":true,"started":true,"restartCount":2,"image":"nginx:1.27","imageID":"sha256:1","state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]}}'

kubectl patch pod web-2 --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'

kubectl wait pod web-1 --for=condition=Ready --timeout=10s

kubectl wait pods -l app=web --for=condition=Ready --timeout=10s

kubectl wait pod web-1 --for=jsonpath='{.status.phase}'=Running --timeout=10s

kubectl wait pod nobody --for=condition=Ready --timeout=1s

kubectl wait pod nobody --for=delete --timeout=1s

kubectl wait configmap later --for=create --timeout=10s & sleep 1; kubectl create configmap later; wait $!

kubectl wait configmap later --for=delete --timeout=10s & sleep 1; kubectl delete configmap later >/dev/null; wait $!

kubectl get pods -o wide

kubectl get pods

kubectl describe pod web-1

kubectl describe node n1

kubectl events

kubectl events --for pod/web-1

kubectl events --types=Warning -o json

kubectl events -A --no-headers

kubectl get events --field-selector reason=Moved,involvedObject.name=web-1

kubectl get events --field-selector reason=Preempted

kubectl get events.events.k8s.io web-1.moved -o yaml

kubectl get events -o wide

kubectl create -f pdb.yaml

kubectl patch pdb web --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":2,"desiredHealthy":2,"expectedPods":2}}'

kubectl get pdb

kubectl describe pdb web

# The budget allows nothing: every eviction is refused until time is up. In the order of a Go map.
# Which pod's error comes first is a matter of kubectl's own threads.
kubectl drain n1 --force --delete-emptydir-data --timeout=2s 2>&1 | tr ',' '\n' | sed 's/.*\(error when evicting\)/\1/; s/]$//' | sort -u

kubectl get nodes n1

kubectl patch pdb web --subresource=status --type=merge -p '{"status":{"disruptionsAllowed":1}}'

kubectl drain n1 --force --delete-emptydir-data --grace-period=0 --timeout=3s >/dev/null 2>&1; echo "drained: $?"

kubectl get pdb web -o yaml | sed -E 's/(web-[12]): .*/POD/'

kubectl get pods -l app=web --no-headers | wc -l

# Refused at first, done after the budget has grown.
(sleep 2; kubectl patch pdb web --subresource=status --type=merge -p '{"status":{"disruptionsAllowed":2}}' >/dev/null) &
kubectl drain n1 --force --delete-emptydir-data --grace-period=0 --timeout=60s >/dev/null 2>&1; echo "drained: $?"; wait

kubectl get pods -l app=web

kubectl drain n1 --dry-run=server 2>&1 | sort

kubectl drain nobody

kubectl uncordon n1

kubectl delete configmap nothing

kubectl delete configmap nothing --ignore-not-found

kubectl delete configmap c1 c2

kubectl delete configmap c3 --dry-run=server

kubectl delete configmaps --all --dry-run=client

kubectl delete secret s1 --now

kubectl create configmap held; kubectl patch configmap held --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'

kubectl delete configmap held --wait=false

kubectl delete configmap held --timeout=1s

kubectl get configmap held -o yaml

kubectl delete configmap held & sleep 1; kubectl patch configmap held --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]' >/dev/null; wait $!

kubectl create deployment gone --image=x >/dev/null; kubectl delete deployment gone --cascade=foreground --timeout=1s

kubectl get deployment gone -o jsonpath='{.metadata.finalizers}'

kubectl create deployment gone2 --image=x >/dev/null; kubectl delete deployment gone2 --cascade=orphan --timeout=1s

kubectl get deployment gone2 -o jsonpath='{.metadata.finalizers}'

kubectl delete pod waiting --grace-period=0 --force

kubectl delete -f deployment.yaml

kubectl delete jobs,cronjobs --all

kubectl delete namespace team --wait=false

kubectl get namespace team -o jsonpath='{.status.phase} {.spec.finalizers}'

kubectl create configmap late -n team

kubectl delete namespace default

kubectl delete priorityclass system-node-critical
