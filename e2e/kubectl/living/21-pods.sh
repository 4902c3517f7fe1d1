# Pods in all their states.

kubectl run nginx --image=nginx --port=80

kubectl wait --for=condition=Ready pod/nginx --timeout=30s

kubectl describe pod nginx

kubectl get pod nginx -o yaml

kubectl run once --image=busybox --restart=Never -- sh -c "exit 0"

kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/once

kubectl get pod once

kubectl describe pod once

kubectl run failed --image=busybox --restart=Never -- sh -c "exit 3"

kubectl wait --for=jsonpath='{.status.phase}'=Failed pod/failed

kubectl get pod failed

kubectl get pod failed -o jsonpath='{.status}'

kubectl describe pod failed

kubectl run crash --image=busybox -- sh -c "exit 1"

until_is CrashLoopBackOff kubectl get pod crash -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}'

kubectl get pod crash --no-headers | awk '{print $2, $3}'

kubectl describe pod crash

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata:
  name: myapp-pod
  labels: {app.kubernetes.io/name: MyApp}
spec:
  containers:
  - name: myapp-container
    image: busybox:1.28
    command: ['sh', '-c', 'sleep 3600']
  initContainers:
  - name: init-myservice
    image: busybox:1.28
    command: ['sh', '-c', "sleep 3"]
  - name: init-mydb
    image: busybox:1.28
    command: ['sh', '-c', "sleep 3"]
END

until_is 'Init:0/2' bash -c "kubectl get pod myapp-pod --no-headers | awk '{print \$3}'"

kubectl wait pod/myapp-pod --for=jsonpath='{.status.initContainerStatuses[0].started}'=true

kubectl describe pod myapp-pod

until_is 'Init:1/2' bash -c "kubectl get pod myapp-pod --no-headers | awk '{print \$3}'"

kubectl wait --for=condition=Initialized pod/myapp-pod

kubectl wait --for=condition=Ready pod/myapp-pod

kubectl describe pod myapp-pod

kubectl get pod myapp-pod -o jsonpath='{.status.initContainerStatuses}{"\n"}{.status.conditions}'

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: init-fails}
spec:
  restartPolicy: Never
  initContainers:
  - {name: setup, image: busybox, command: [sh, -c, exit 1]}
  containers:
  - {name: main, image: nginx}
END

kubectl wait --for=jsonpath='{.status.phase}'=Failed pod/init-fails

kubectl get pod init-fails

kubectl describe pod init-fails

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: sidecar}
spec:
  initContainers:
  - {name: logshipper, image: alpine, restartPolicy: Always, command: [sh, -c, tail -F /opt/logs.txt]}
  containers:
  - {name: main, image: nginx}
  - {name: second, image: redis}
END

kubectl wait --for=condition=Ready pod/sidecar

kubectl get pod sidecar

kubectl describe pod sidecar

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata:
  name: liveness-exec
  labels: {test: liveness}
  annotations: {stowplan.dev/fail-probes: liveness}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: liveness
    image: registry.k8s.io/busybox:1.27.2
    args: [/bin/sh, -c, touch /tmp/healthy; sleep 600]
    livenessProbe:
      exec: {command: [cat, /tmp/healthy]}
      initialDelaySeconds: 1
      periodSeconds: 1
      failureThreshold: 2
    startupProbe:
      httpGet: {path: /healthz, port: 8080}
      failureThreshold: 30
      periodSeconds: 1
END

until_is 1 kubectl get pod liveness-exec -o jsonpath='{.status.containerStatuses[0].restartCount}'

kubectl describe pod liveness-exec | sed '/^Events/,$d'

kubectl get events --field-selector involvedObject.name=liveness-exec -o custom-columns=T:.type,R:.reason,M:.message,F:.involvedObject.fieldPath | sort -u

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: gated}
spec:
  schedulingGates: [{name: example.com/foo}, {name: example.com/bar}]
  readinessGates: [{conditionType: www.example.com/feature-1}]
  containers:
  - {name: pause, image: "registry.k8s.io/pause:3.6"}
END

kubectl get pod gated

kubectl get pod gated -o wide

kubectl describe pod gated

kubectl patch pod gated --type=json -p '[{"op":"remove","path":"/spec/schedulingGates"}]'

kubectl wait --for=condition=ContainersReady pod/gated

kubectl get pod gated -o wide

kubectl patch pod gated --subresource=status -p '{"status":{"conditions":[{"type":"www.example.com/feature-1","status":"True"}]}}'

kubectl wait --for=condition=Ready pod/gated

kubectl get pod gated -o wide

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: deadline}
spec:
  activeDeadlineSeconds: 1
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: nginx}
END

kubectl wait --for=jsonpath='{.status.phase}'=Failed pod/deadline

kubectl get pod deadline

kubectl describe pod deadline

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: lazy, annotations: {stowplan.dev/stop-after: 100s}}
spec:
  terminationGracePeriodSeconds: 4
  containers:
  - name: main
    image: nginx
    lifecycle: {preStop: {exec: {command: [sleep, "1"]}}}
END

kubectl wait --for=condition=Ready pod/lazy

kubectl delete pod lazy --wait=false

kubectl get pod lazy

kubectl describe pod lazy

kubectl wait --for=delete pod/lazy --timeout=30s

kubectl delete pod nginx --now

kubectl delete pod once --grace-period=0 --force

kubectl delete pod failed crash myapp-pod init-fails --grace-period=1

kubectl run bad --image=nginx --overrides='{"spec":{"nodeName":"nobody"}}'

kubectl get pod bad -o wide

kubectl delete pod bad --force

kubectl run --image=nginx big --overrides='{"spec":{"containers":[{"name":"big","image":"nginx","resources":{"requests":{"cpu":"100"}}}]}}'

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/big

kubectl describe pod big

kubectl get pod big -o jsonpath='{.status}'

kubectl delete pod big

kubectl get pods

kubectl run tty --image=busybox --dry-run=client -o yaml -- sleep 5

kubectl run nginx --image=nginx --dry-run=server -o name

kubectl run qos --image=nginx --overrides='{"spec":{"containers":[{"name":"qos","image":"nginx","resources":{"limits":{"cpu":"100m","memory":"64Mi"}}}]}}'

kubectl wait --for=condition=Ready pod/qos

kubectl get pod qos -o jsonpath='{.status.qosClass} {.spec.containers[0].resources}'

kubectl patch pod qos --subresource resize --patch '{"spec":{"containers":[{"name":"qos","resources":{"requests":{"cpu":"200m"},"limits":{"cpu":"200m"}}}]}}'

kubectl describe pod qos | sed '/^Events/,$d'

kubectl debug -q qos --image=busybox:1.28 --target=qos --container=debugger --attach=false -- sleep 100

kubectl wait pod/qos --for=jsonpath='{.status.ephemeralContainerStatuses[0].state.running}' --timeout=20s

kubectl describe pod qos | sed -n '/^Ephemeral/,/^Conditions/p'

kubectl debug qos --image=ubuntu --copy-to=qos-debug --attach=false -q --container=x -- sleep 100

kubectl wait --for=condition=Ready pod/qos-debug

kubectl get pod qos-debug

kubectl get pod qos-debug -o jsonpath='{.metadata.labels} {.spec.containers[*].name}'
