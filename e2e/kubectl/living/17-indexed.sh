# Jobs with indexes, policies for failures and successes.

kubectl apply -f - <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: indexed-job
spec:
  completions: 5
  parallelism: 3
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      initContainers:
      - name: input
        image: docker.io/library/bash
        command: [bash, -c, "items=(foo bar baz qux xyz); echo x"]
        volumeMounts: [{mountPath: /input, name: input}]
      containers:
      - name: worker
        image: docker.io/library/busybox
        command: [rev, /input/data.txt]
        volumeMounts: [{mountPath: /input, name: input}]
      volumes:
      - name: input
        emptyDir: {}
END

kubectl wait --for=condition=complete job/indexed-job --timeout=60s

kubectl describe jobs/indexed-job

kubectl get job indexed-job

kubectl get pods -l job-name=indexed-job -o jsonpath='{range .items[*]}{.metadata.generateName} {.metadata.annotations} {.spec.hostname} {.metadata.labels.batch\.kubernetes\.io/job-completion-index}{"\n"}{end}' | sort

kubectl get pods -l batch.kubernetes.io/job-completion-index=2 -o jsonpath='{.items[0].spec.containers[0].env}'

kubectl describe pods -l batch.kubernetes.io/job-completion-index=0

kubectl apply -f - <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: job-backoff-limit-per-index-example
spec:
  completions: 4
  parallelism: 3
  completionMode: Indexed
  backoffLimitPerIndex: 0
  maxFailedIndexes: 5
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: example
        image: python
        command: [sh, -c, "sleep 1; exit 1"]
END

kubectl wait --for=condition=failed job/job-backoff-limit-per-index-example --timeout=60s

kubectl get -o yaml job job-backoff-limit-per-index-example

kubectl describe job job-backoff-limit-per-index-example

kubectl get job job-backoff-limit-per-index-example

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: some-fail}
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimitPerIndex: 1
  maxFailedIndexes: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: example, image: python, command: [sh, -c, "exit 1"]}
END

kubectl wait --for=condition=failed job/some-fail --timeout=60s

kubectl get job some-fail -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: job-pod-failure-policy-failjob
spec:
  completions: 8
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: docker.io/library/bash:5
        command: [sh, -c, "sleep 1; exit 42"]
  backoffLimit: 6
  podFailurePolicy:
    rules:
    - action: FailJob
      onExitCodes: {containerName: main, operator: In, values: [42]}
END

kubectl wait --for=condition=failed job/job-pod-failure-policy-failjob --timeout=60s

kubectl get job job-pod-failure-policy-failjob -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl describe job job-pod-failure-policy-failjob

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: job-pod-failure-policy-ignore
spec:
  completions: 2
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: docker.io/library/bash:5
        command: [sleep, "3"]
  backoffLimit: 0
  podFailurePolicy:
    rules:
    - action: Ignore
      onPodConditions: [{type: DisruptionTarget}]
END

kubectl wait job/job-pod-failure-policy-ignore --for=jsonpath='{.status.ready}'=2

# Evicted, which does not count.
kubectl create --raw /api/v1/namespaces/indexed/pods/$(kubectl get pods -l job-name=job-pod-failure-policy-ignore -o jsonpath='{.items[0].metadata.name}')/eviction -f - <<END | grep -o '"status":"[A-Za-z]*"'
{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"$(kubectl get pods -l job-name=job-pod-failure-policy-ignore -o jsonpath='{.items[0].metadata.name}')"}}
END

kubectl wait --for=condition=complete job/job-pod-failure-policy-ignore --timeout=60s

kubectl get job job-pod-failure-policy-ignore

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: job-pod-failure-policy-failindex
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: docker.io/library/bash:5
        command: [sh, -c, "exit 7"]
  podFailurePolicy:
    rules:
    - action: FailIndex
      onExitCodes: {operator: NotIn, values: [1, 2]}
END

kubectl wait --for=condition=failed job/job-pod-failure-policy-failindex --timeout=60s

kubectl get job job-pod-failure-policy-failindex -o jsonpath='{.status.failedIndexes} {.status.completedIndexes} {.status.failed}{"\n"}{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata:
  name: job-success
spec:
  parallelism: 5
  completions: 5
  completionMode: Indexed
  successPolicy:
    rules:
    - succeededIndexes: 0,2-3
      succeededCount: 1
  template:
    metadata:
      annotations: {stowplan.dev/run-for: 2s, stowplan.dev/exit-code: "0"}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: python, command: [python3, -c, "..."]}
END

kubectl wait --for=condition=complete job/job-success --timeout=60s

kubectl get job job-success -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'

kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: bad}
spec:
  backoffLimitPerIndex: 1
  podReplacementPolicy: TerminatingOrFailed
  template:
    spec:
      restartPolicy: Always
      containers:
      - {name: main, image: python}
END

# Elastic: both change together.
kubectl create -f - <<END
apiVersion: batch/v1
kind: Job
metadata: {name: elastic}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: python, command: [sleep, "1000"]}
END

kubectl wait job/elastic --for=jsonpath='{.status.ready}'=3

kubectl patch job elastic -p '{"spec":{"parallelism":2,"completions":2}}'

until_is 'elastic-0- elastic-1-' bash -c "kubectl get pods -l job-name=elastic -o jsonpath='{range .items[*]}{.metadata.generateName}{\"\n\"}{end}' | sort | xargs"

kubectl get job elastic

kubectl delete job elastic

kubectl get jobs --sort-by=.metadata.name
