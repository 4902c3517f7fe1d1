# Claims and volumes.

kubectl get storageclass

kubectl describe storageclass standard

kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 3Gi}}
END

until_is WaitForFirstConsumer kubectl get events --field-selector involvedObject.name=claim -o jsonpath='{.items[0].reason}'

kubectl get pvc claim

kubectl describe pvc claim

kubectl run user --image=nginx --overrides='{"spec":{"containers":[{"name":"user","image":"nginx","volumeMounts":[{"name":"data","mountPath":"/data"}]}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"claim"}}]}}'

kubectl wait --for=condition=Ready pod/user --timeout=30s

kubectl get pvc claim

kubectl describe pvc claim

kubectl get pvc claim -o jsonpath='{.metadata.annotations}{"\n"}{.metadata.finalizers}{"\n"}{.status}{"\n"}'

kubectl describe pod user

kubectl get pv $(kubectl get pvc claim -o jsonpath='{.spec.volumeName}')

kubectl describe pv $(kubectl get pvc claim -o jsonpath='{.spec.volumeName}')

kubectl delete pvc claim --wait=false

kubectl get pvc claim

kubectl describe pvc claim | sed '/^Events/,$d'

kubectl delete pod user --now

kubectl wait --for=delete pvc/claim --timeout=30s

until_is 0 bash -c "kubectl get pv -o json | grep -c storage/claim"

kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolume
metadata:
  name: task-pv-volume
  labels: {type: local}
spec:
  storageClassName: manual
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /mnt/data}
END

kubectl wait pv/task-pv-volume --for=jsonpath='{.status.phase}'=Available

kubectl get pv task-pv-volume

kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: task-pv-claim}
spec:
  storageClassName: manual
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 3Gi}}
END

kubectl wait pvc/task-pv-claim --for=jsonpath='{.status.phase}'=Bound --timeout=30s

kubectl get pv task-pv-volume

kubectl get pvc task-pv-claim

kubectl get pv task-pv-volume -o yaml

kubectl get pvc task-pv-claim -o yaml

kubectl describe pv task-pv-volume

kubectl delete pv task-pv-volume --wait=false

kubectl get pv task-pv-volume

kubectl delete pvc task-pv-claim

kubectl wait --for=delete pv/task-pv-volume --timeout=30s

kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolume
metadata: {name: kept}
spec:
  storageClassName: manual
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /mnt/data}
  claimRef: {namespace: storage, name: mine}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: mine}
spec:
  storageClassName: manual
  volumeName: kept
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
END

kubectl wait pvc/mine --for=jsonpath='{.status.phase}'=Bound --timeout=30s

kubectl delete pvc mine

kubectl wait pv/kept --for=jsonpath='{.status.phase}'=Released

kubectl get pv kept

kubectl describe pv kept

kubectl delete pv kept

kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: nowhere}
spec:
  storageClassName: nothing
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: unclassed}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
END

until_is FailedBinding kubectl get events --field-selector involvedObject.name=unclassed -o jsonpath='{.items[0].reason}'

until_is ProvisioningFailed kubectl get events --field-selector involvedObject.name=nowhere -o jsonpath='{.items[0].reason}'

kubectl describe pvc nowhere unclassed

kubectl run waits --image=nginx --overrides='{"spec":{"containers":[{"name":"waits","image":"nginx"}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"unclassed"}}]}}'

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/waits

kubectl describe pod waits

kubectl run lost --image=nginx --overrides='{"spec":{"containers":[{"name":"lost","image":"nginx"}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"absent"}}]}}'

kubectl wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/lost

kubectl describe pod lost

kubectl delete pod waits lost

kubectl apply -f - <<END
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once}
provisioner: simulated.stowplan.dev
volumeBindingMode: Immediate
allowVolumeExpansion: true
reclaimPolicy: Retain
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: quick}
spec:
  storageClassName: at-once
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
END

kubectl wait pvc/quick --for=jsonpath='{.status.phase}'=Bound --timeout=30s

kubectl describe pvc quick

kubectl get sc at-once

kubectl patch pvc quick -p '{"spec":{"resources":{"requests":{"storage":"500Mi"}}}}'

kubectl patch pvc nowhere -p '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}'

# A claim that lives as long as its pod.
kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: scratch}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: nginx, volumeMounts: [{name: v, mountPath: /v}]}
  volumes:
  - name: v
    ephemeral:
      volumeClaimTemplate:
        metadata: {labels: {type: scratch}}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
END

kubectl wait --for=condition=Ready pod/scratch --timeout=30s

kubectl get pvc

kubectl get pvc scratch-v -o jsonpath='{.metadata.labels} {.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name}'

kubectl describe pod scratch | sed -n '/^Volumes/,/^QoS/p'

kubectl delete pod scratch

kubectl wait --for=delete pvc/scratch-v --timeout=30s
