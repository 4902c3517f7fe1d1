# Where pods go, and why not.

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: nginx, labels: {env: test}}
spec:
  nodeSelector: {topology.kubernetes.io/zone: b}
  containers:
  - {name: nginx, image: nginx, imagePullPolicy: IfNotPresent}
END

kubectl wait --for=condition=Ready pod/nginx

kubectl get pod nginx -o jsonpath='{.spec.nodeName}' | sed 's/node/n/'

kubectl describe pod nginx

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: nowhere}
spec:
  nodeSelector: {disktype: ssd}
  containers:
  - {name: nginx, image: nginx}
END

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/nowhere

kubectl describe pod nowhere

kubectl get events --field-selector involvedObject.name=nowhere -o yaml

kubectl get pod nowhere -o yaml

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: with-node-affinity}
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [antarctica-east1, c]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        preference: {matchExpressions: [{key: another, operator: In, values: [x]}]}
  containers:
  - {name: main, image: "registry.k8s.io/pause:3.8"}
END

kubectl wait --for=condition=Ready pod/with-node-affinity

kubectl get pod with-node-affinity -o jsonpath='{.spec.nodeName}' | sed 's/node/n/'

# One per node, and a fourth.
kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: redis-cache}
spec:
  selector: {matchLabels: {app: store}}
  replicas: 4
  template:
    metadata: {labels: {app: store}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {labelSelector: {matchLabels: {app: store}}, topologyKey: kubernetes.io/hostname}
      containers:
      - {name: redis-server, image: "redis:3.2-alpine"}
END

kubectl wait deployment/redis-cache --for=jsonpath='{.status.readyReplicas}'=3

kubectl get pods -l app=store --no-headers | awk '{print $3}' | sort

until_is FailedScheduling bash -c "kubectl describe pods -l app=store | grep -o FailedScheduling | sort -u"

kubectl describe pods -l app=store | grep FailedScheduling

kubectl get deployment redis-cache

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: friend}
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {labelSelector: {matchLabels: {app: nobody}}, topologyKey: kubernetes.io/hostname}
  containers:
  - {name: main, image: nginx}
END

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/friend

kubectl describe pod friend | grep FailedScheduling

kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: spread}
spec:
  selector: {matchLabels: {app: spread}}
  replicas: 6
  template:
    metadata: {labels: {app: spread}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: spread}}
        matchLabelKeys: [pod-template-hash]
      containers:
      - {name: main, image: nginx}
END

kubectl rollout status deployment/spread | tail -1

kubectl get pods -l app=spread -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | sed s/node/n/ | sort | uniq -c

kubectl describe pod -l app=spread | grep -A1 Topology

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: port-1}
spec:
  nodeName: node-a-1
  containers:
  - {name: main, image: nginx, ports: [{containerPort: 80, hostPort: 4711}]}
---
apiVersion: v1
kind: Pod
metadata: {name: port-2}
spec:
  nodeSelector: {kubernetes.io/hostname: node-a-1}
  containers:
  - {name: main, image: nginx, ports: [{containerPort: 80, hostPort: 4711}]}
END

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/port-2

kubectl describe pod port-2

kubectl describe pod port-1

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: full}
spec:
  nodeName: node-a-1
  containers:
  - {name: main, image: nginx, resources: {requests: {cpu: "100"}}}
END

kubectl wait --for=jsonpath='{.status.phase}'=Failed pod/full

kubectl get pod full

kubectl describe pod full | sed 's/used: [0-9]*/used: N/'

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: annotation-second-scheduler}
spec:
  schedulerName: my-scheduler
  containers:
  - {name: main, image: "registry.k8s.io/pause:3.8"}
END

kubectl get pod annotation-second-scheduler

kubectl describe pod annotation-second-scheduler

kubectl create priorityclass high-priority --value=1000000 --description="important" --preemption-policy=Never

kubectl get priorityclass high-priority

kubectl describe priorityclass high-priority

kubectl get priorityclasses

kubectl run important --image=nginx --overrides='{"spec":{"priorityClassName":"high-priority"}}'

kubectl get pod important -o jsonpath='{.spec.priority} {.spec.priorityClassName} {.spec.preemptionPolicy}'

kubectl describe pod important | head -3

kubectl run unknown --image=nginx --overrides='{"spec":{"priorityClassName":"none"}}'

kubectl delete priorityclass high-priority

kubectl delete pods --all --now | sort
