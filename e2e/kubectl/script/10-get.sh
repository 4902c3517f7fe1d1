# get, in every form.

kubectl get nodes

kubectl get nodes -o wide

kubectl get nodes n1 -o yaml

kubectl get pods

kubectl get pods -o wide

kubectl get pods -o name

kubectl get pods -o json

kubectl get pods -o yaml

kubectl get pod waiting -o yaml --show-managed-fields

kubectl get pods -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.spec.containers[*].image}{"\n"}{end}'

kubectl get pods -o jsonpath-as-json='{.items[*].metadata.labels}'

kubectl get pods -o go-template='{{range .items}}{{.metadata.name}} {{.spec.priority}}{{"\n"}}{{end}}'

kubectl get pods -o go-template-file=template.txt

kubectl get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,QOS:.status.qosClass

kubectl get pods -o custom-columns-file=columns.txt

kubectl get pods -o kyaml

kubectl get pods --no-headers

kubectl get pods --show-labels

kubectl get pods -L app,tier

kubectl get pods --show-kind

kubectl get pods --all-namespaces

kubectl get -A deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs

kubectl get all

kubectl get pods -l app=web

kubectl get pods -l 'app in (web,batch),tier!=back'

kubectl get pods -l '!tier'

kubectl get pods -l 'app=('

kubectl get pods --field-selector spec.nodeName=n1

kubectl get pods --field-selector status.phase!=Running,metadata.name=waiting

kubectl get pods --field-selector spec.image=x

kubectl get pods --sort-by=.metadata.name

kubectl get pods --sort-by='{.spec.priority}'

kubectl get pods --sort-by=.nothing.there

kubectl get pods --chunk-size=1

kubectl get pods web-1 web-2 nobody

kubectl get pods nobody --ignore-not-found

kubectl get pods -n nowhere

kubectl get nothing

kubectl get pod/web-1 node/n1 deployment/shop

kubectl get -f pods.yaml

kubectl get deployment shop --subresource=scale

kubectl get deployment shop --subresource=status -o jsonpath='{.status}'

kubectl get services

kubectl get services -o wide

kubectl get namespaces

kubectl get namespaces default -o yaml

kubectl get serviceaccounts

kubectl get statefulsets -o wide

kubectl get daemonsets -o wide

kubectl get replicasets -o wide

kubectl get jobs,cronjobs -o wide

kubectl get pv,pvc,sc

kubectl get pv,pvc -o wide

kubectl get limitranges,leases,networkpolicies

kubectl get priorityclasses

kubectl get priorityclass system-node-critical -o yaml

kubectl get deploy shop -o yaml

kubectl get svc kubernetes -o yaml

kubectl get sts db -o yaml

kubectl get ds agent -o yaml

kubectl get cronjob nightly -o yaml

kubectl get job once -o yaml |
  sed -E 's/(controller-uid: ).*/\1UID/'

kubectl get pv,pvc,sc,limits -o yaml

# The order of keys is not compared.
kubectl get --raw /api/v1/namespaces/default/configmaps | tr ',{}' '\n\n\n' | sort -u

kubectl get --raw /healthz

kubectl get --raw '/livez?verbose' | tail -1

kubectl get --raw /version | grep -E 'major|minor|gitVersion'

kubectl get --raw /nothing

kubectl get pods -o xml

kubectl get configmaps

kubectl get events

kubectl get pods --output-watch-events --watch-only --request-timeout=1s

first_lines 4 'kubectl create configmap seen --from-literal=a=1; kubectl label configmap seen x=y; kubectl delete configmap seen' \
  kubectl get configmaps,secrets -w --output-watch-events

first_lines 4 'kubectl label pod waiting mark=1' kubectl get pods -w --output-watch-events

first_lines 4 'kubectl label pod waiting mark-' kubectl get pods -w -o name

first_lines 1 true kubectl get pods -w -l app=batch -o jsonpath='{.metadata.name}{"\n"}'
