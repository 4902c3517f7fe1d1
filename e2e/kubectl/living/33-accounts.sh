# Accounts, roles, tokens.

kubectl create serviceaccount build-robot

kubectl get serviceaccounts

kubectl describe serviceaccounts/build-robot

kubectl create token build-robot | cut -d. -f2 | tr '_-' '/+' | base64 -d 2>/dev/null | grep -o '"sub":"[^"]*"'

kubectl apply -f - <<END
apiVersion: v1
kind: Secret
metadata:
  name: build-robot-secret
  annotations: {kubernetes.io/service-account.name: build-robot}
type: kubernetes.io/service-account-token
END

until_is 'ca.crt namespace token' bash -c "kubectl get secret build-robot-secret -o go-template='{{range \$k, \$v := .data}}{{\$k}}{{\"\n\"}}{{end}}' | xargs"

kubectl describe secrets/build-robot-secret | sed 's/ca.crt:.*/ca.crt: SIZE/'

kubectl get secret build-robot-secret -o jsonpath='{.metadata.annotations}'

kubectl create role pod-reader --verb=get,list,watch --resource=pods,pods/status

kubectl create rolebinding read-pods --role=pod-reader --serviceaccount=accounts:build-robot

kubectl describe role pod-reader

kubectl describe rolebinding read-pods

kubectl auth can-i list pods --as=system:serviceaccount:accounts:build-robot

kubectl auth can-i delete pods --as=system:serviceaccount:accounts:build-robot

kubectl auth can-i --list --as=system:serviceaccount:accounts:build-robot

kubectl get pods --as=system:serviceaccount:accounts:build-robot

kubectl delete pod x --as=system:serviceaccount:accounts:build-robot

kubectl auth whoami --as=system:serviceaccount:accounts:build-robot

kubectl delete serviceaccount build-robot

kubectl wait secret/build-robot-secret --for=delete --timeout=30s

kubectl get clusterrole -o name | grep -c system:controller

kubectl get clusterrolebindings -o name | sort | sed -n 1,20p

kubectl get cm kube-root-ca.crt -o jsonpath='{.metadata.annotations}'
