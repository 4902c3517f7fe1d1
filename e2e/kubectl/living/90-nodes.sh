# Alone: Nodes: description, cordon, drain, taints.

kubectl describe node node-a-1

kubectl get node node-a-1 -o yaml

kubectl get events -n default --field-selector involvedObject.kind=Node -o custom-columns=R:.reason,M:.message,S:.source.component,T:.type | sort -u

kubectl create deployment web --image=nginx --replicas=6

kubectl rollout status deployment web | tail -1

kubectl create pdb web --selector=app=web --min-available=5

until_is 1 kubectl get pdb web -o jsonpath='{.status.disruptionsAllowed}'

kubectl cordon node-a-1

kubectl cordon node-a-1

kubectl get nodes | sed s/node-/n-/

kubectl describe node node-a-1 | sed -n '/^Taints/,/^Lease/p'

kubectl get node node-a-1 -o jsonpath='{.spec}' | tr ',' '\n' | grep -v timeAdded

kubectl run pinned --image=nginx --overrides='{"spec":{"nodeSelector":{"kubernetes.io/hostname":"node-a-1"}}}'

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/pinned

kubectl describe pod pinned | grep FailedScheduling

kubectl uncordon node-a-1

kubectl uncordon node-a-1

kubectl wait --for=condition=Ready pod/pinned

kubectl drain node-a-1 2>&1 | sed 's/nodes\/web[^,]*/nodes\/WEB/g' | sort

kubectl drain node-a-1 --force --dry-run=client 2>&1 | sort -u

kubectl drain node-a-1 --force --ignore-daemonsets --delete-emptydir-data --timeout=60s 2>&1 | grep -v 'evicting pod nodes/web\|error when evicting\|pod/web' | sort

kubectl get pods -o wide | sed s/node-/n-/ | grep -c n-a-1

kubectl get pods | grep -c Running

kubectl get events --field-selector involvedObject.name=pinned -o custom-columns=R:.reason,M:.message | sort -u

kubectl get nodes | sed s/node-/n-/

kubectl uncordon node-a-1

kubectl patch deployment web -p '{"spec":{"replicas":5}}'

until_is 0 kubectl get pdb web -o jsonpath='{.status.disruptionsAllowed}'

kubectl drain node-b-1 --timeout=2s 2>&1 | grep -o 'Cannot evict pod.*\|global timeout.*\|node/.*' | sort -u

kubectl uncordon node-b-1

kubectl delete pdb web

kubectl taint nodes node-a-1 key1=value1:NoSchedule

kubectl taint nodes node-a-1 key1=value1:NoSchedule

kubectl taint nodes node-a-1 key1=other:NoSchedule --overwrite

kubectl describe node node-a-1 | grep Taints

kubectl run untolerant --image=nginx --overrides='{"spec":{"nodeSelector":{"kubernetes.io/hostname":"node-a-1"}}}'

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/untolerant

kubectl describe pod untolerant | grep FailedScheduling

kubectl run tolerant --image=nginx --overrides='{"spec":{"nodeSelector":{"kubernetes.io/hostname":"node-a-1"},"tolerations":[{"key":"key1","operator":"Exists","effect":"NoSchedule"}]}}'

kubectl wait --for=condition=Ready pod/tolerant

kubectl taint nodes node-a-1 key1:NoSchedule-

kubectl wait --for=condition=Ready pod/untolerant

kubectl taint nodes node-a-1 key1:NoSchedule-

kubectl run stays --image=nginx --overrides='{"spec":{"nodeName":"node-a-1","tolerations":[{"key":"bad","operator":"Exists","effect":"NoExecute"}]}}'

kubectl run leaves --image=nginx --overrides='{"spec":{"nodeName":"node-a-1","terminationGracePeriodSeconds":1,"tolerations":[{"key":"bad","operator":"Exists","effect":"NoExecute","tolerationSeconds":3}]}}'

kubectl wait --for=condition=Ready pod stays leaves

kubectl taint nodes node-a-1 bad=yes:NoExecute

kubectl wait --for=delete pod/untolerant --timeout=60s

kubectl get events --field-selector involvedObject.name=untolerant,reason=TaintManagerEviction -o custom-columns=R:.reason,M:.message,S:.source.component,T:.type | sort -u

kubectl wait --for=delete pod/leaves --timeout=60s

kubectl get pods stays

kubectl describe node node-a-1 | sed -n '/^Non-terminated/,/^Events/p'

kubectl taint nodes node-a-1 bad-

kubectl create -f - <<END
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {name: agent}}
  template:
    metadata: {labels: {name: agent}}
    spec:
      containers:
      - {name: main, image: nginx}
END

kubectl rollout status ds/agent | tail -1

kubectl drain node-c-1 2>&1 | grep -o 'cannot delete DaemonSet.*agent' | sort

kubectl drain node-c-1 --ignore-daemonsets --force --timeout=60s 2>&1 | grep -v 'evicting pod\|evicted' | sort

kubectl get ds agent

kubectl uncordon node-c-1

kubectl taint nodes node-c-1 special=true:NoExecute

until_is '2 2' kubectl get ds agent -o jsonpath='{.status.desiredNumberScheduled} {.status.numberReady}'

kubectl taint nodes node-c-1 special-

until_is '3 3' kubectl get ds agent -o jsonpath='{.status.desiredNumberScheduled} {.status.numberReady}'

kubectl label nodes node-c-1 disktype=ssd

kubectl get nodes -l disktype=ssd | sed s/node-/n-/

kubectl label nodes node-c-1 disktype-

kubectl drain nothing

kubectl debug node/node-c-1 --image=ubuntu --attach=false -q -- sleep 10

kubectl get pods -o name | grep debugger

kubectl delete pods --all --now | wc -l
