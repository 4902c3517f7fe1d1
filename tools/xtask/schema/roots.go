package main

import (
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kinds are the types that clients send and receive as whole objects. Everything they reach is in
// the tables too. A new kind is one entry here.
var kinds = []any{
	corev1.Binding{},
	corev1.ConfigMap{}, corev1.ConfigMapList{},
	corev1.Endpoints{}, corev1.EndpointsList{},
	corev1.Event{}, corev1.EventList{},
	corev1.LimitRange{}, corev1.LimitRangeList{},
	corev1.Namespace{}, corev1.NamespaceList{},
	corev1.Node{}, corev1.NodeList{},
	corev1.PersistentVolumeClaim{}, corev1.PersistentVolumeClaimList{},
	corev1.PersistentVolume{}, corev1.PersistentVolumeList{},
	corev1.Pod{}, corev1.PodList{},
	corev1.PodTemplate{}, corev1.PodTemplateList{},
	corev1.ReplicationController{}, corev1.ReplicationControllerList{},
	corev1.ResourceQuota{}, corev1.ResourceQuotaList{},
	corev1.Secret{}, corev1.SecretList{},
	corev1.ServiceAccount{}, corev1.ServiceAccountList{},
	corev1.Service{}, corev1.ServiceList{},
	appsv1.ControllerRevision{}, appsv1.ControllerRevisionList{},
	appsv1.DaemonSet{}, appsv1.DaemonSetList{},
	appsv1.Deployment{}, appsv1.DeploymentList{},
	appsv1.ReplicaSet{}, appsv1.ReplicaSetList{},
	appsv1.StatefulSet{}, appsv1.StatefulSetList{},
	batchv1.CronJob{}, batchv1.CronJobList{},
	batchv1.Job{}, batchv1.JobList{},
	policyv1.PodDisruptionBudget{}, policyv1.PodDisruptionBudgetList{},
	policyv1.Eviction{},
	schedulingv1.PriorityClass{}, schedulingv1.PriorityClassList{},
	storagev1.CSIDriver{}, storagev1.CSIDriverList{},
	storagev1.CSINode{}, storagev1.CSINodeList{},
	storagev1.CSIStorageCapacity{}, storagev1.CSIStorageCapacityList{},
	storagev1.StorageClass{}, storagev1.StorageClassList{},
	storagev1.VolumeAttachment{}, storagev1.VolumeAttachmentList{},
	storagev1.VolumeAttributesClass{}, storagev1.VolumeAttributesClassList{},
	coordinationv1.Lease{}, coordinationv1.LeaseList{},
	eventsv1.Event{}, eventsv1.EventList{},
	nodev1.RuntimeClass{}, nodev1.RuntimeClassList{},
	rbacv1.ClusterRole{}, rbacv1.ClusterRoleList{},
	rbacv1.ClusterRoleBinding{}, rbacv1.ClusterRoleBindingList{},
	rbacv1.Role{}, rbacv1.RoleList{},
	rbacv1.RoleBinding{}, rbacv1.RoleBindingList{},
	authenticationv1.SelfSubjectReview{},
	authenticationv1.TokenReview{},
	authenticationv1.TokenRequest{},
	authorizationv1.LocalSubjectAccessReview{},
	authorizationv1.SelfSubjectAccessReview{},
	authorizationv1.SelfSubjectRulesReview{},
	authorizationv1.SubjectAccessReview{},
	discoveryv1.EndpointSlice{}, discoveryv1.EndpointSliceList{},
	networkingv1.Ingress{}, networkingv1.IngressList{},
	networkingv1.IngressClass{}, networkingv1.IngressClassList{},
	networkingv1.NetworkPolicy{}, networkingv1.NetworkPolicyList{},
	autoscalingv1.Scale{},
	autoscalingv1.HorizontalPodAutoscaler{}, autoscalingv1.HorizontalPodAutoscalerList{},
	autoscalingv2.HorizontalPodAutoscaler{}, autoscalingv2.HorizontalPodAutoscalerList{},
	resourcev1.DeviceClass{}, resourcev1.DeviceClassList{},
	resourcev1.ResourceClaim{}, resourcev1.ResourceClaimList{},
	resourcev1.ResourceClaimTemplate{}, resourcev1.ResourceClaimTemplateList{},
	resourcev1.ResourceSlice{}, resourcev1.ResourceSliceList{},
	apiextensionsv1.CustomResourceDefinition{}, apiextensionsv1.CustomResourceDefinitionList{},
	metav1.Status{},
	metav1.DeleteOptions{},
	metav1.WatchEvent{},
	metav1.APIResourceList{},
	metav1.APIGroup{},
	metav1.APIGroupList{},
	metav1.APIVersions{},
}

// optionKinds are read from queries and never published.
var optionKinds = []any{
	metav1.CreateOptions{},
	metav1.GetOptions{},
	metav1.ListOptions{},
	metav1.PatchOptions{},
	metav1.UpdateOptions{},
	metav1.PartialObjectMetadata{},
	metav1.PartialObjectMetadataList{},
	metav1.Table{},
}
