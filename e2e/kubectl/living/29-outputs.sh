# What get can print of living things.

kubectl create deployment web --image=nginx --replicas=3

kubectl rollout status deployment web | tail -1

kubectl get pods -o wide

kubectl get pods -o name

kubectl get pods -L app,pod-template-hash

kubectl get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase,IMAGE:.spec.containers[*].image,QOS:.status.qosClass

kubectl get pods -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.status.startTime}{"\t"}{.status.phase}{"\n"}{end}'

kubectl get pods --sort-by=.metadata.creationTimestamp -o name

kubectl get pods --sort-by='.status.containerStatuses[0].restartCount'

kubectl get pods --field-selector=status.phase=Running

kubectl get pods --field-selector=status.phase!=Running

kubectl get pods --field-selector=spec.nodeName=nobody

kubectl get pods -o json | grep -c '"phase": "Running"'

kubectl get pods -l 'app in (web, other),pod-template-hash' --no-headers | wc -l

kubectl get deploy web -o go-template='{{.status.readyReplicas}}{{"\n"}}'

kubectl get deploy/web rs pods 2>&1 | tail -1

kubectl get deploy,rs -o wide

kubectl get pods -w --request-timeout=2s | head -4

kubectl get pods --watch-only --output-watch-events --request-timeout=1s

kubectl get events -A --field-selector involvedObject.namespace=outputs,reason=ScalingReplicaSet

kubectl get events --field-selector involvedObject.kind=Deployment

kubectl get events --field-selector involvedObject.kind=ReplicaSet -o wide

kubectl events --for deployment/web

kubectl events --types=Warning

kubectl get events --field-selector reason=Scheduled -o jsonpath='{range .items[*]}{.type} {.reason} {.source} {.reportingComponent} {.action} {.count} {.involvedObject.kind} {.firstTimestamp}{"\n"}{end}'

kubectl get events --field-selector reason=SuccessfulCreate -o jsonpath='{range .items[*]}{.type} {.reason} {.source} {.reportingComponent} {.reportingInstance} {.action} {.count} {.involvedObject.kind} {.involvedObject.apiVersion}{"\n"}{end}'

kubectl get events --field-selector reason=Started -o jsonpath='{range .items[*]}{.type} {.reason} {.source.component} {.reportingComponent} {.reportingInstance} {.action} {.count} {.involvedObject.fieldPath}{"\n"}{end}'

kubectl get events.events.k8s.io --field-selector reason=Scheduled | head -2

kubectl get deployment web -o yaml --show-managed-fields

kubectl get rs -o yaml --show-managed-fields

kubectl get pods -o yaml --show-managed-fields

kubectl get nodes

kubectl get nodes -o wide

kubectl get nodes -L topology.kubernetes.io/zone

kubectl get namespaces

kubectl get sa default -o yaml

kubectl get leases -n kube-node-lease

kubectl get leases -n kube-node-lease -o jsonpath='{range .items[*]}{.spec.holderIdentity} {.spec.leaseDurationSeconds} {.metadata.ownerReferences[0].kind}{"\n"}{end}'

kubectl api-resources --namespaced=true --api-group=apps

kubectl explain deployment.spec.strategy

kubectl get all -n kube-system

kubectl describe sa default

kubectl get pods nothing; kubectl get nothing; kubectl describe pod nothing

kubectl cluster-info | sed -n 1p
