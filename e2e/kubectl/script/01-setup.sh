# What the other sections use.

kubectl create serviceaccount default

kubectl create namespace team

kubectl create serviceaccount default --namespace team

kubectl create -f nodes.yaml

kubectl create -f pods.yaml

kubectl create -f deployment.yaml --save-config

kubectl create -f workloads.yaml

kubectl create -f event.yaml
