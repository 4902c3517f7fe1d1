# DaemonSets: rolling update, rollback, selectors of nodes.

kubectl create -f - <<END
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: fluentd-elasticsearch
  labels:
    k8s-app: fluentd-logging
spec:
  selector:
    matchLabels:
      name: fluentd-elasticsearch
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 1
  template:
    metadata:
      labels:
        name: fluentd-elasticsearch
    spec:
      tolerations:
      - key: node-role.kubernetes.io/control-plane
        operator: Exists
        effect: NoSchedule
      containers:
      - name: fluentd-elasticsearch
        image: quay.io/fluentd_elasticsearch/fluentd:v5.0.1
        volumeMounts:
        - name: varlog
          mountPath: /var/log
      terminationGracePeriodSeconds: 1
      volumes:
      - name: varlog
        hostPath:
          path: /var/log
END

kubectl rollout status ds/fluentd-elasticsearch | tail -1

kubectl get ds

kubectl get ds -o wide

kubectl describe ds fluentd-elasticsearch

kubectl get pods

kubectl describe pods

kubectl get ds fluentd-elasticsearch -o yaml

kubectl get pods -o jsonpath='{.items[0].metadata.labels}{"\n"}{.items[0].metadata.generateName}{"\n"}{.items[0].spec.tolerations}{"\n"}'

kubectl get ds/fluentd-elasticsearch -o go-template='{{.spec.updateStrategy.type}}{{"\n"}}'

kubectl set image ds/fluentd-elasticsearch fluentd-elasticsearch=quay.io/fluentd_elasticsearch/fluentd:v5.0.2

kubectl rollout status ds/fluentd-elasticsearch | tail -1

kubectl rollout history ds/fluentd-elasticsearch

kubectl annotate ds fluentd-elasticsearch kubernetes.io/change-cause=second

kubectl rollout history daemonset fluentd-elasticsearch --revision=1

kubectl rollout undo daemonset fluentd-elasticsearch --to-revision=1

kubectl rollout status ds/fluentd-elasticsearch | tail -1

kubectl rollout history ds/fluentd-elasticsearch

kubectl get controllerrevisions --sort-by=.revision

kubectl rollout undo ds/fluentd-elasticsearch --to-revision=9

kubectl rollout restart ds/fluentd-elasticsearch

kubectl rollout status ds/fluentd-elasticsearch | tail -1

kubectl get ds fluentd-elasticsearch -o jsonpath='{.status}'

kubectl patch ds fluentd-elasticsearch -p '{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}'

kubectl set env ds/fluentd-elasticsearch LEVEL=debug

until_is '' kubectl get ds fluentd-elasticsearch -o jsonpath='{.status.updatedNumberScheduled}'

kubectl rollout status ds/fluentd-elasticsearch

kubectl delete pods -l name=fluentd-elasticsearch

until_is '3 3' kubectl get ds fluentd-elasticsearch -o jsonpath='{.status.updatedNumberScheduled} {.status.numberAvailable}'

kubectl patch ds fluentd-elasticsearch -p '{"spec":{"template":{"spec":{"nodeSelector":{"topology.kubernetes.io/zone":"b"}}}}}'

until_is '1 1 0' kubectl get ds fluentd-elasticsearch -o jsonpath='{.status.desiredNumberScheduled} {.status.currentNumberScheduled} {.status.numberMisscheduled}'

kubectl get pods -o wide

kubectl get ds

kubectl patch ds fluentd-elasticsearch -p '{"spec":{"template":{"spec":{"nodeSelector":{"topology.kubernetes.io/zone":"nowhere"}}}}}'

until_is 0 kubectl get ds fluentd-elasticsearch -o jsonpath='{.status.currentNumberScheduled}'

kubectl get ds

kubectl describe ds fluentd-elasticsearch | sed '/^Events/,$d'

kubectl get events --field-selector involvedObject.kind=DaemonSet -o custom-columns=R:.reason,M:.message,S:.source.component | sort -u

kubectl delete ds fluentd-elasticsearch --cascade=orphan

kubectl create -f - <<END
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: surge}
spec:
  minReadySeconds: 1
  selector: {matchLabels: {name: surge}}
  updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {name: surge}}
    spec:
      containers:
      - {name: main, image: "nginx:1"}
END

kubectl rollout status ds/surge | tail -1

kubectl set image ds/surge main=nginx:2

kubectl rollout status ds/surge | tail -1

kubectl describe ds surge | sed '/^Events/,$d'

kubectl delete ds surge --cascade=foreground

kubectl get ds,pods
