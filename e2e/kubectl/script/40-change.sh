# patch, label, annotate, taint, cordon, scale, set, rollout.

kubectl patch deployment shop -p '{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"shop:9"}]}}}}'

kubectl patch deployment shop -p '{"spec":{"template":{"spec":{"containers":[{"name":"shop","image":"shop:9"}]}}}}'

kubectl patch deployment shop --type=merge -p '{"spec":{"replicas":4}}'

kubectl patch deployment shop --type=json -p '[{"op":"replace","path":"/spec/replicas","value":5},{"op":"add","path":"/metadata/annotations/x","value":"y"}]'

kubectl patch deployment shop --type=json -p '[{"op":"test","path":"/spec/replicas","value":9}]'

kubectl patch deployment shop --type=json -p '[{"op":"remove","path":"/spec/nothing"}]'

kubectl patch deployment shop -p '{"spec":{"replicas":"many"}}'

kubectl patch deployment shop -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'

kubectl patch deployment shop --subresource=scale --type=merge -p '{"spec":{"replicas":6}}'

kubectl patch deployment shop --subresource=status --type=merge -p '{"status":{"replicas":6,"readyReplicas":3,"observedGeneration":4}}'

kubectl get deployment shop

kubectl patch node n1 -p '{"spec":{"unschedulable":true}}' --dry-run=server

kubectl patch pod waiting -p '{"spec":{"nodeSelector":null}}'

kubectl patch pod nobody -p '{}'

kubectl patch deployment shop --patch-file=/dev/stdin <<'Y'
{"metadata": {"labels": {"patched": "yes"}}}
Y

kubectl patch -f deployment.yaml -p '{"metadata":{"labels":{"patched":null}}}' -o yaml

kubectl label pods -l app=web colour=red

kubectl label pods -l app=web colour=red

kubectl label pod web-1 colour=blue

kubectl label pod web-1 colour=blue --overwrite

kubectl label pod web-1 colour-

kubectl label pod web-1 colour-

kubectl label pod web-1 'bad key=x'

kubectl label pod web-1 'a=bad value'

# In the order of a Go map.
kubectl label pods --all --list | sort

kubectl label --resource-version=1 pod web-1 x=y

kubectl annotate pod web-1 note='a longer text'

kubectl annotate pod web-1 note=other

kubectl annotate pod web-1 note-

kubectl annotate --list pod web-1 | sort

kubectl taint nodes n1 key=value:NoSchedule

kubectl taint nodes n1 key=value:NoSchedule

kubectl taint nodes n1 key=other:NoSchedule --overwrite

kubectl taint nodes n1 key=value:Sometimes

kubectl get node n1 -o jsonpath='{.spec.taints}'

kubectl taint nodes n1 key-

kubectl taint nodes n1 key:NoSchedule-

kubectl taint nodes --all x=y:PreferNoSchedule

kubectl taint nodes --all x-

kubectl cordon n1

kubectl cordon n1

kubectl get nodes

kubectl get node n1 -o jsonpath='{.spec}'

kubectl uncordon n1

kubectl uncordon n1

kubectl cordon -l disk=ssd

kubectl uncordon -l disk=ssd

kubectl cordon nothere

kubectl scale deployment shop --replicas=3

kubectl scale deployment shop --replicas=4 --current-replicas=9

kubectl scale deployment shop --replicas=4 --current-replicas=3

kubectl scale statefulset/db rs/rs --replicas=1

kubectl scale deployment nobody --replicas=1

kubectl scale pod web-1 --replicas=1

kubectl scale deployment shop --replicas=-1

kubectl get deployment shop -o jsonpath='{.spec.replicas}'

kubectl set image deployment/shop shop=shop:10

kubectl set image deployment/shop nothing=shop:10

kubectl set env deployment/shop C=3 A-

kubectl set env deployment/shop --list

kubectl set env pod/web-1 --list

kubectl set resources deployment shop --limits=cpu=500m,memory=64Mi

kubectl set resources deployment shop --limits=cpu=100m

kubectl set serviceaccount deployment shop robot

kubectl set selector service db app=database

kubectl set subject rolebinding rb1 --user=jack

kubectl get deployment shop -o yaml --show-managed-fields

kubectl rollout pause deployment shop

kubectl rollout pause deployment shop

kubectl rollout resume deployment shop

kubectl rollout restart deployment shop

kubectl rollout restart daemonset agent

kubectl rollout restart statefulset db

kubectl rollout history deployment shop

kubectl rollout history statefulset db

kubectl rollout undo deployment shop

kubectl rollout status deployment shop --timeout=1s

kubectl rollout status deployment shop --watch=false

kubectl rollout status pod web-1
