# CronJobs.

# No minute begins before the first look is over.
until [ "$(date +%-S)" -lt 25 ]; do sleep 1; done

kubectl create cronjob hello --image=busybox:1.28 --schedule="*/1 * * * *" -- /bin/sh -c "date; echo Hello from the Kubernetes cluster"

kubectl get cronjob hello

kubectl get cronjob hello -o wide

kubectl describe cronjob hello | grep -v '^Last Schedule\|^Active\|^Events' | sed '/^  /d'

kubectl create job test-job --from=cronjob/hello

kubectl wait --for=condition=complete job/test-job --timeout=30s

kubectl get job test-job -o jsonpath='{.metadata.annotations}{"\n"}{.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name} {.metadata.ownerReferences[0].controller}{"\n"}{.spec.template.spec.containers[0].command}{"\n"}'

kubectl describe job test-job

until_is UnexpectedJob kubectl get events --field-selector involvedObject.kind=CronJob,reason=UnexpectedJob -o jsonpath='{.items[0].reason}'

kubectl get events --field-selector involvedObject.kind=CronJob,reason=UnexpectedJob -o custom-columns=T:.type,R:.reason,M:.message,S:.source.component

# Of a time that has come.
for i in $(seq 60); do kubectl get events --field-selector involvedObject.kind=CronJob,reason=SawCompletedJob -o name | grep -q . && break; sleep 1; done; kubectl get cronjob hello

kubectl get jobs -l '!x' -o jsonpath='{range .items[?(@.metadata.name!="test-job")]}{.metadata.name} {.metadata.annotations} {.metadata.ownerReferences[0].name}{"\n"}{end}' | head -1

kubectl get events --field-selector involvedObject.kind=CronJob -o custom-columns=T:.type,R:.reason,M:.message,S:.source.component | sort -u

kubectl patch cronjob hello -p '{"spec":{"suspend":true}}'

kubectl get cronjob hello

kubectl describe cronjob hello | sed '/^Events/,$d'

kubectl get cronjob hello -o jsonpath='{.spec}'

kubectl create cronjob bad --image=busybox --schedule="61 * * * *"

kubectl create cronjob bad --image=busybox --schedule="TZ=UTC * * * * *"

kubectl apply -f - <<END
apiVersion: batch/v1
kind: CronJob
metadata: {name: zoned}
spec:
  schedule: "0 3 1 1 *"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 60
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 0
  jobTemplate:
    metadata: {labels: {x: y}, annotations: {a: b}}
    spec:
      backoffLimit: 2
      template:
        spec:
          restartPolicy: OnFailure
          containers:
          - {name: main, image: busybox}
END

kubectl get cronjob zoned

kubectl describe cronjob zoned

kubectl create job manual --from=cronjob/zoned

kubectl get job manual -o jsonpath='{.metadata.labels.x} {.metadata.annotations.a} {.spec.backoffLimit}'

kubectl wait --for=condition=complete job/manual

kubectl patch cronjob zoned -p '{"spec":{"timeZone":"Nowhere/Land"}}'

kubectl get cronjobs

kubectl delete cronjob hello zoned

until_is 'No resources found in cron namespace.' kubectl get jobs

until_is 'No resources found in cron namespace.' kubectl get pods
