# ConfigMaps, Secrets, the downward API, volumes.

kubectl create configmap game-config --from-literal=special.how=very --from-literal=special.type=charm

kubectl describe configmaps game-config

kubectl create secret generic db --from-literal=username=admin --from-literal=password=secret

kubectl describe secret db

kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata:
  name: test-pod
  labels: {zone: us-est-coast, cluster: test-cluster1, rack: rack-22}
  annotations: {build: two, builder: john-doe}
spec:
  restartPolicy: Never
  containers:
  - name: test-container
    image: registry.k8s.io/busybox:1.27.2
    command: [ "/bin/sh", "-c", "env" ]
    env:
    - {name: SPECIAL_LEVEL_KEY, valueFrom: {configMapKeyRef: {name: game-config, key: special.how}}}
    - {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password, optional: true}}}
    - {name: MY_NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: MY_POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {containerName: test-container, resource: limits.cpu}}}
    envFrom:
    - configMapRef: {name: game-config}
    - secretRef: {name: db}
      prefix: DB_
    resources:
      requests: {memory: 32Mi, cpu: 125m}
      limits: {memory: 64Mi, cpu: 250m}
    volumeMounts:
    - {name: config-volume, mountPath: /etc/config}
    - {name: podinfo, mountPath: /etc/podinfo, readOnly: true}
    - {name: secret, mountPath: /etc/secret, subPath: x}
    - {name: cache, mountPath: /cache}
  volumes:
  - {name: config-volume, configMap: {name: game-config, items: [{key: special.how, path: keys}]}}
  - name: podinfo
    downwardAPI:
      items:
      - {path: labels, fieldRef: {fieldPath: metadata.labels}}
      - {path: cpu, resourceFieldRef: {containerName: test-container, resource: limits.cpu, divisor: 1m}}
  - {name: secret, secret: {secretName: db}}
  - {name: cache, emptyDir: {medium: Memory, sizeLimit: 500Mi}}
  - {name: all, projected: {sources: [{configMap: {name: game-config}}, {secret: {name: db}}]}}
END

kubectl wait --for=condition=Ready pod/test-pod --timeout=20s || kubectl get pod test-pod

kubectl describe pod test-pod

kubectl get pod test-pod -o yaml

# Missing.
kubectl run needs --image=nginx --overrides='{"spec":{"containers":[{"name":"needs","image":"nginx","envFrom":[{"configMapRef":{"name":"absent"}}]}]}}'

until_is 'CreateContainerConfigError' kubectl get pod needs -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}'

kubectl get pod needs

kubectl describe pod needs

kubectl create configmap absent --from-literal=a=b

kubectl wait --for=condition=Ready pod/needs --timeout=30s

kubectl run mounts --image=nginx --overrides='{"spec":{"containers":[{"name":"mounts","image":"nginx","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v","secret":{"secretName":"missing"}}]}}'

until_is 'FailedMount' kubectl get events --field-selector involvedObject.name=mounts,reason=FailedMount -o jsonpath='{.items[0].reason}'

kubectl get pod mounts

kubectl describe pod mounts

kubectl create secret generic missing

kubectl wait --for=condition=Ready pod/mounts --timeout=60s

kubectl apply -f - <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed}
data: {a: b}
immutable: true
END

kubectl patch configmap fixed -p '{"data":{"a":"c"}}'

kubectl delete pod test-pod needs mounts

kubectl get configmaps
