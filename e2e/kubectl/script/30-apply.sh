# apply, on both sides; diff; replace; edit; kustomize.

kubectl diff -f deployment-2.yaml | sed -E 's/^(---|\+\+\+) .*/\1/; s/^diff .*/diff/'

kubectl apply -f deployment-2.yaml

kubectl get deployment shop -o yaml --show-managed-fields

kubectl apply -f deployment-2.yaml

kubectl apply view-last-applied deployment shop

kubectl apply -f applied.yaml

kubectl annotate configmap settings mine=yes

kubectl apply -f applied-2.yaml

kubectl get configmap settings -o yaml --show-managed-fields

kubectl apply -f applied.yaml --dry-run=server -o yaml

kubectl apply -f applied.yaml --dry-run=client

kubectl apply -f applied.yaml -f deployment.yaml

kubectl patch configmap settings --type=merge -p '{"data":{"colour":"green"}}' --field-manager=other

kubectl apply -f applied.yaml --server-side

kubectl get configmap settings -o yaml --show-managed-fields

kubectl patch configmap settings --type=merge -p '{"data":{"colour":"yellow"}}' --field-manager=other

kubectl apply -f applied.yaml --server-side

kubectl apply -f applied.yaml --server-side --force-conflicts

kubectl get configmap settings -o yaml --show-managed-fields

sed -e '/size/d' applied.yaml | kubectl apply --server-side -f -

kubectl get configmap settings -o jsonpath='{.data}'

kubectl apply --server-side --field-manager=second -f - <<'Y'
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {shape: round}}
Y

kubectl apply --server-side -f - <<'Y'
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: 1}}
Y

kubectl apply -f broken.yaml

kubectl apply --server-side -f broken.yaml

sed 's/app: shop}}$/app: other}}/' deployment.yaml | kubectl apply -f -

kubectl apply -k .

kubectl diff -k .

kubectl delete -k .

kubectl kustomize .

kubectl apply -f applied.yaml --prune -l team=blue --prune-allowlist=core/v1/ConfigMap

kubectl replace -f applied.yaml

kubectl replace --force -f applied.yaml

kubectl get configmap settings -o yaml

kubectl replace -f - <<'Y'
{apiVersion: v1, kind: ConfigMap, metadata: {name: missing}}
Y

kubectl get configmap settings -o yaml | sed -e 's/resourceVersion: .*/resourceVersion: "1"/' | kubectl replace -f -

EDITOR="sed -i s/large/medium/" kubectl edit configmap settings

EDITOR="sed -i s/nothing/x/" kubectl edit configmap settings

EDITOR="sed -i s/replicas:.*/replicas:\ 5/" kubectl edit deployment shop --field-manager=editor

kubectl get deployment shop -o jsonpath='{.spec.replicas} {.metadata.generation}'

kubectl apply edit-last-applied configmap settings </dev/null; true

kubectl apply set-last-applied -f applied.yaml --create-annotation

kubectl diff -f applied.yaml --server-side | sed -E 's/^(---|\+\+\+) .*/\1/; s/^diff .*/diff/'
