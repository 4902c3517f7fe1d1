# Custom resources.

kubectl create -f crd.yaml

kubectl wait crd widgets.shop.example.com --for=condition=Established --timeout=20s

# The real server publishes discovery and OpenAPI a moment later.
until kubectl explain widget >/dev/null 2>&1 && kubectl get widgets >/dev/null 2>&1; do sleep 0.2; done

kubectl get crd

kubectl get crd widgets.shop.example.com -o yaml

kubectl api-resources --api-group=shop.example.com

kubectl explain widget

kubectl explain widget.spec

kubectl create -f widget.yaml

kubectl get widgets

kubectl get wd w1 -o yaml --show-managed-fields

kubectl get all -l '!app' --no-headers | grep widget

kubectl apply -f widget.yaml

kubectl apply -f widget.yaml --server-side

sed 's/red/green/' widget.yaml | kubectl apply -f -

kubectl patch widget w1 --type=merge -p '{"spec":{"count":3}}'

kubectl patch widget w1 -p '{"spec":{"count":3}}'

kubectl patch widget w1 --type=merge -p '{"spec":{"count":11}}'

kubectl scale widget w1 --replicas=2

kubectl patch widget w1 --subresource=status --type=merge -p '{"status":{"count":2}}'

kubectl get widget w1 --subresource=scale

kubectl label widget w1 a=b

EDITOR="sed -i s/red/blue/" kubectl edit widget w1

kubectl describe widget w1

kubectl get widgets -o wide -A --sort-by=.spec.count

kubectl create -f - <<'Y'
{apiVersion: shop.example.com/v1, kind: Widget, metadata: {name: w2}, spec: {colour: blue, unknown: 1}}
Y

kubectl create --validate=warn -f - <<'Y'
{apiVersion: shop.example.com/v1, kind: Widget, metadata: {name: w2}, spec: {colour: blue, unknown: 1}}
Y

kubectl wait widget w2 --for=jsonpath='{.spec.colour}'=blue --timeout=5s

kubectl delete widgets --all

kubectl delete crd widgets.shop.example.com

kubectl get widgets
