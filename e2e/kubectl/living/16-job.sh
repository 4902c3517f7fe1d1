# Jobs.

kubectl apply -f - <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: pi
spec:
  template:
    spec:
      containers:
      - name: pi
        image: perl:5.34.0
        command: ["perl",  "-Mbignum=bpi", "-wle", "print bpi(2000)"]
      restartPolicy: Never
  backoffLimit: 4
END

kubectl wait --for=condition=complete job/pi --timeout=60s

kubectl get job pi

kubectl get jobs -o wide

kubectl describe job pi

kubectl get job pi -o yaml

kubectl get pods --selector=batch.kubernetes.io/job-name=pi

kubectl describe pods --selector=batch.kubernetes.io/job-name=pi

kubectl get pods -l job-name=pi -o jsonpath='{.items[0].metadata.labels}{"\n"}{.items[0].metadata.finalizers}{"\n"}{.items[0].metadata.generateName}'

kubectl create job hello --image=busybox -- echo hello

kubectl wait --for=condition=complete job/hello

kubectl get jobs

kubectl delete job hello pi

kubectl get pods

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: many}
spec:
  completions: 6
  parallelism: 2
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - {name: main, image: busybox, command: [sleep, "1"]}
END

kubectl wait --for=condition=complete job/many --timeout=60s

kubectl get job many

kubectl get job many -o jsonpath='{.status.succeeded} {.status.failed} {.status.active} {.status.ready} {.status.terminating} {.status.uncountedTerminatedPods}{"\n"}{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl describe job many

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: broken}
spec:
  backoffLimit: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox, command: [sh, -c, exit 3]}
END

kubectl wait --for=condition=failed job/broken --timeout=60s

kubectl get job broken

kubectl describe job broken

kubectl get pods -l job-name=broken

kubectl describe pods -l job-name=broken | grep -v '^ *Normal'

kubectl get job broken -o jsonpath='{.status.succeeded} {.status.failed} {.status.active} {.status.ready} {.status.terminating} {.status.uncountedTerminatedPods}{"\n"}{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: late}
spec:
  activeDeadlineSeconds: 2
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: busybox, command: [sleep, "1000"]}
END

kubectl wait --for=condition=failed job/late --timeout=60s

kubectl describe job late

kubectl get job late -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

until_is 'No resources found in job namespace.' kubectl get pods -l job-name=late

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: later}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: busybox, command: [sleep, "1000"]}
END

kubectl wait --for=condition=Suspended job/later

kubectl get job later

kubectl get pods -l job-name=later

kubectl patch job/later --type=strategic --patch '{"spec":{"suspend":false}}'

kubectl wait job/later --for=jsonpath='{.status.ready}'=2

kubectl get job later

kubectl get pods -l job-name=later

kubectl patch job/later --type=strategic --patch '{"spec":{"suspend":true}}'

kubectl wait --for=condition=Suspended job/later

until_is 'No resources found in job namespace.' kubectl get pods -l job-name=later

kubectl describe job later

kubectl get job later -o jsonpath='{.status.active} {.status.ready} {.status.terminating} {.status.startTime}{"\n"}{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl patch job later -p '{"spec":{"completions":5}}'

kubectl patch job later -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"other"}]}}}}'

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: gone}
spec:
  ttlSecondsAfterFinished: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox}
END

kubectl wait job/gone --for=delete --timeout=30s

kubectl get pods -l job-name=gone

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: run}
spec:
  parallelism: 3
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: busybox, command: [sleep, "1000"]}
END

kubectl wait job/run --for=jsonpath='{.status.ready}'=3

kubectl get job run

kubectl patch job run -p '{"spec":{"parallelism":1}}'

until_is '1 1' kubectl get job run -o jsonpath='{.status.active} {.status.ready}'

kubectl describe job run

kubectl delete pod -l job-name=run --wait=false | wc -l

until_is '1 1' kubectl get job run -o jsonpath='{.status.failed} {.status.ready}'

kubectl delete job run --cascade=orphan

kubectl get pods -l job-name=run -o jsonpath='{range .items[?(@.status.phase=="Running")]}{.metadata.finalizers} {.metadata.ownerReferences}{"\n"}{end}'

kubectl delete pods -l job-name=run

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: restart}
spec:
  backoffLimit: 1
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - {name: main, image: busybox, command: [sh, -c, "sleep 1; exit 1"]}
END

kubectl wait --for=condition=failed job/restart --timeout=60s

kubectl describe job restart

kubectl create job x --image=busybox --from=cronjob/none

kubectl create job none --from=cronjob/none
