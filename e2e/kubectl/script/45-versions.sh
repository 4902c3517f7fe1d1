# One object in two versions: autoscalers are kept as v2 and read and written as v1, too.

kubectl autoscale deployment shop --name=plain --min=2 --max=5

kubectl get horizontalpodautoscalers.v1.autoscaling plain -o yaml --show-managed-fields

kubectl create -f autoscaler-v2.yaml

kubectl get horizontalpodautoscalers.v1.autoscaling many -o yaml --show-managed-fields

kubectl get horizontalpodautoscalers.v1.autoscaling

kubectl get horizontalpodautoscalers.v1.autoscaling,horizontalpodautoscalers.v2.autoscaling -o wide

kubectl get horizontalpodautoscalers.v1.autoscaling -o jsonpath='{range .items[*]}{.kind} {.apiVersion} {.metadata.name} {.spec.targetCPUUtilizationPercentage}{"\n"}{end}'

kubectl describe horizontalpodautoscalers.v1.autoscaling many

kubectl create -f autoscaler-v1.yaml

kubectl get hpa old -o yaml --show-managed-fields

kubectl get horizontalpodautoscalers.v1.autoscaling old -o json --show-managed-fields

kubectl create -f autoscaler-v1.yaml

kubectl apply -f autoscaler-v1.yaml

kubectl diff -f autoscaler-v1.yaml

kubectl apply -f autoscaler-v1.yaml --server-side

kubectl apply -f autoscaler-v1.yaml --server-side --force-conflicts

kubectl get horizontalpodautoscalers.v1.autoscaling old -o yaml --show-managed-fields

kubectl patch horizontalpodautoscalers.v1.autoscaling old -p '{"spec":{"targetCPUUtilizationPercentage":null}}'

kubectl get hpa old -o yaml --show-managed-fields

kubectl patch horizontalpodautoscalers.v1.autoscaling many --type=merge -p '{"spec":{"targetCPUUtilizationPercentage":33,"maxReplicas":6}}'

kubectl patch horizontalpodautoscalers.v1.autoscaling many --type=json -p '[{"op":"add","path":"/metadata/annotations/colour","value":"red"}]'

kubectl get hpa many -o yaml --show-managed-fields

kubectl patch horizontalpodautoscalers.v1.autoscaling many --subresource=status --type=merge -p '{"status":{"currentReplicas":3,"currentCPUUtilizationPercentage":7},"spec":{"maxReplicas":9}}'

kubectl patch hpa many --subresource=status --type=merge -p '{"status":{"desiredReplicas":4,"lastScaleTime":"2024-01-02T03:04:05Z","conditions":[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-01-02T03:04:05Z","reason":"R","message":"a<b"},{"type":"X","status":"False"}],"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":33,"averageValue":"100m"}}},{"type":"Object","object":{"metric":{"name":"rps"},"describedObject":{"kind":"Service","name":"r"},"current":{"averageValue":"5"}}},{"type":"External","external":{"metric":{"name":"q"},"current":{"value":"3"}}}]}}'

kubectl get horizontalpodautoscalers.v1.autoscaling many -o yaml --show-managed-fields

kubectl get horizontalpodautoscalers.v1.autoscaling many -o json --show-managed-fields | kubectl replace -f -

kubectl get hpa many -o yaml --show-managed-fields

kubectl get horizontalpodautoscalers.v1.autoscaling many

kubectl apply --server-side --field-manager=other -f - <<< '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"many"},"spec":{"maxReplicas":8}}'

kubectl apply --server-side --field-manager=other --force-conflicts -f - <<< '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"many","labels":{"a":"b"}},"spec":{"maxReplicas":8}}'

kubectl apply --server-side --field-manager=other --force-conflicts -f - <<< '{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"many"},"spec":{"maxReplicas":8}}'

kubectl get hpa many -o yaml --show-managed-fields

kubectl patch horizontalpodautoscalers.v1.autoscaling old --type=merge -p '{"spec":{"maxReplicas":0,"targetCPUUtilizationPercentage":-3}}'

kubectl patch horizontalpodautoscalers.v1.autoscaling old --type=merge -p '{"spec":{"metrics":[],"x":1}}'

kubectl create -f - <<< '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"strict"},"spec":{"maxReplicas":3,"metrics":[],"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"}}}'

kubectl create -f - <<< '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"bad"},"spec":{"minReplicas":0,"scaleTargetRef":{"kind":"","name":"d d"}}}'

kubectl create -o yaml --show-managed-fields -f - <<< '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"generateName":"any-","annotations":{"autoscaling.alpha.kubernetes.io/metrics":"nonsense","autoscaling.alpha.kubernetes.io/behavior":"{\"scaleup\":{\"policies\":[{\"type\":\"Pods\",\"VALUE\":2,\"periodseconds\":5}]}}"}},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"}}}' | sed -E 's/any-[a-z0-9]{5}/any-NAME/'

kubectl get hpa -o yaml | sed -E 's/any-[a-z0-9]{5}/any-NAME/'

kubectl label horizontalpodautoscalers.v1.autoscaling plain colour=blue

kubectl get horizontalpodautoscalers.v1.autoscaling -l colour=blue --field-selector metadata.name=plain -o name

kubectl explain horizontalpodautoscalers.spec --api-version=autoscaling/v1

kubectl explain hpa.spec.metrics --api-version=autoscaling/v1

kubectl api-resources --api-group=autoscaling

kubectl get --raw /apis/autoscaling | tr -d '{}[]' | tr ',' '\n' | sort

kubectl patch horizontalpodautoscalers.v1.autoscaling many --type=merge -p '{"metadata":{"finalizers":["a.b/c"]}}'

kubectl delete horizontalpodautoscalers.v1.autoscaling many --wait=false

kubectl get hpa many -o yaml

kubectl patch horizontalpodautoscalers.v1.autoscaling many --type=merge -p '{"metadata":{"finalizers":null}}'

kubectl delete horizontalpodautoscalers.v1.autoscaling plain old

kubectl get hpa many plain old

kubectl delete horizontalpodautoscalers.v1.autoscaling --all | sed -E 's/any-[a-z0-9]{5}/any-NAME/'
