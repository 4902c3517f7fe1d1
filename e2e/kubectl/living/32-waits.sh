# wait, in all its forms.

kubectl run busybox1 --image=busybox --labels=app=b -- sleep 1000

kubectl run busybox2 --image=busybox --labels=app=b -- sleep 1000

kubectl wait --for=condition=Ready pod/busybox1 --timeout=30s

kubectl wait --for=condition=ready pods -l app=b --timeout=30s

kubectl wait --for='jsonpath={.status.conditions[?(@.type=="Ready")].status}=True' pod/busybox1

kubectl wait --for=condition=ready=false pod/busybox1 --timeout=1s

kubectl wait --for=jsonpath='{.status.podIP}' pod/busybox1

kubectl wait --for=jsonpath='{.status.phase}'=Failed pod/busybox1 --timeout=1s

kubectl wait --for=condition=Nope pods --all --timeout=1s

kubectl wait --for=delete pod/busybox1 --timeout=30s & sleep 0.5; kubectl delete pod/busybox1 --now --wait=false; wait $!

kubectl delete pods -l app=b --now; kubectl wait --for=delete pods -l app=b --timeout=30s

kubectl wait --for=create deployment/later --timeout=30s & sleep 0.5; kubectl create deployment later --image=nginx; wait $!

kubectl wait deployment later --for condition=available --timeout=30s

kubectl wait deployment later --for condition=Progressing

kubectl wait --for=condition=Ready node --all

kubectl wait --for=jsonpath='{.status.phase}'=Active namespace/waits

kubectl wait --for=create pod -l app=none --timeout=1s

kubectl create job j --image=busybox -- sleep 1

kubectl wait --for=condition=complete job/j --timeout=30s

kubectl wait --for=condition=SuccessCriteriaMet job/j

kubectl delete deployment later; kubectl delete job j
