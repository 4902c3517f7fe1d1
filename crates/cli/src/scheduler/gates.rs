//! Feature gates. They cannot be changed here: what upstream has behind them is on or off as it is by
//! default in v1.36.4.

/// The gates of kube-scheduler v1.36.4 that are open.
const ON: [&str; 170] = [
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerTracing",
    "AggregatedDiscoveryRemoveBetaType",
    "AllowParsingUserUIDFromCertAuth",
    "AllowServiceExternalIPs",
    "AnonymousAuthConfigurableEndpoints",
    "AnyVolumeDataSource",
    "AtomicFIFO",
    "AuthorizeNodeWithSelectors",
    "AuthorizePodWebsocketUpgradeCreatePermission",
    "AuthorizeWithSelectors",
    "BtreeWatchCache",
    "CPUManagerPolicyBetaOptions",
    "CPUManagerPolicyOptions",
    "CRDObservedGenerationTracking",
    "CRDValidationRatcheting",
    "CSIServiceAccountTokenSecrets",
    "ClearingNominatedNodeNameAfterBinding",
    "ClientsAllowCARotation",
    "ClientsAllowTLSCacheGC",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConsistentListFromCache",
    "ConstrainedImpersonation",
    "ContainerCheckpoint",
    "ContainerRestartRules",
    "ContextualLogging",
    "CustomCPUCFSQuotaPeriod",
    "CustomResourceFieldSelectors",
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAResourceClaimDeviceStatus",
    "DRAResourceClaimGranularStatusAuthorization",
    "DRASchedulerFilterTimeout",
    "DeclarativeValidation",
    "DeclarativeValidationBeta",
    "DeploymentReplicaSetTerminatingReplicas",
    "DetectCacheInconsistency",
    "DisableAllocatorDualWrite",
    "DisableCPUQuotaWithExclusiveCPUs",
    "DisableNodeKubeProxyVersion",
    "DynamicResourceAllocation",
    "EnvFiles",
    "ExecProbeTimeout",
    "ExtendWebSocketsToKubelet",
    "ExternalServiceAccountTokenSigner",
    "GracefulNodeShutdown",
    "GracefulNodeShutdownBasedOnPodPriority",
    "HPAConfigurableTolerance",
    "HostnameOverride",
    "ImageMaximumGCAge",
    "ImageVolume",
    "InOrderInformers",
    "InOrderInformersBatchProcess",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "InformerResourceVersion",
    "JobBackoffLimitPerIndex",
    "JobManagedBy",
    "JobPodReplacementPolicy",
    "JobSuccessPolicy",
    "KubeletCgroupDriverFromCRI",
    "KubeletCrashLoopBackOffMax",
    "KubeletEnsureSecretPulledImages",
    "KubeletFineGrainedAuthz",
    "KubeletPSI",
    "KubeletPodResourcesDynamicResources",
    "KubeletPodResourcesGet",
    "KubeletPodResourcesListUseActivePods",
    "KubeletSeparateDiskGC",
    "KubeletServiceAccountTokenForCredentialProviders",
    "KubeletTracing",
    "ListFromCacheSnapshot",
    "LogarithmicScaleDown",
    "LoggingBetaOptions",
    "MatchLabelKeysInPodAffinity",
    "MatchLabelKeysInPodTopologySpread",
    "MatchLabelKeysInPodTopologySpreadSelectorMerge",
    "MultiCIDRServiceAllocator",
    "MutableCSINodeAllocatableCount",
    "MutablePodResourcesForSuspendedJobs",
    "MutableSchedulingDirectivesForSuspendedJobs",
    "MutatingAdmissionPolicy",
    "NFTablesProxyMode",
    "NodeDeclaredFeatures",
    "NodeInclusionPolicyInPodTopologySpread",
    "NodeLogQuery",
    "NodeSwap",
    "NominatedNodeNameForExpectation",
    "OpenAPIEnums",
    "OpportunisticBatching",
    "OrderedNamespaceDeletion",
    "PLEGOnDemandRelist",
    "PodDeletionCost",
    "PodLevelResources",
    "PodLifecycleSleepAction",
    "PodLifecycleSleepActionAllowZero",
    "PodObservedGenerationTracking",
    "PodReadyToStartContainersCondition",
    "PodSchedulingReadiness",
    "PodTopologyLabelsAdmission",
    "PortForwardWebsockets",
    "PreferSameTrafficDistribution",
    "PreventStaticPodAPIReferences",
    "ProcMountType",
    "RecoverVolumeExpansionFailure",
    "RecursiveReadOnlyMounts",
    "RelaxedDNSSearchValidation",
    "RelaxedEnvironmentVariableValidation",
    "RelaxedServiceNameValidation",
    "ReloadKubeletClientCAFile",
    "ReloadKubeletServerCertificateFile",
    "RemoteRequestHeaderUID",
    "ResilientWatchCacheInitialization",
    "ResourceHealthStatus",
    "ResourceHealthStatusMessage",
    "RestartAllContainersOnContainerExits",
    "RetryGenerateName",
    "RotateKubeletServerCertificate",
    "SELinuxChangePolicy",
    "SELinuxMountReadWriteOncePod",
    "SchedulerAsyncPreemption",
    "SchedulerPopFromBackoffQ",
    "SchedulerQueueingHints",
    "SeparateTaintEvictionController",
    "ServiceAccountNodeAudienceRestriction",
    "ServiceAccountTokenJTI",
    "ServiceAccountTokenNodeBinding",
    "ServiceAccountTokenNodeBindingValidation",
    "ServiceAccountTokenPodNodeInfo",
    "ServiceCIDRStatusFieldWiping",
    "SidecarContainers",
    "SizeBasedListCostEstimate",
    "StaleControllerConsistencyDaemonSet",
    "StaleControllerConsistencyJob",
    "StaleControllerConsistencyReplicaSet",
    "StaleControllerConsistencyStatefulSet",
    "StatefulSetSemanticRevisionComparison",
    "StorageNamespaceIndex",
    "StorageVersionHash",
    "StreamingCollectionEncodingToJSON",
    "StreamingCollectionEncodingToProtobuf",
    "StrictIPCIDRValidation",
    "StructuredAuthenticationConfiguration",
    "StructuredAuthenticationConfigurationEgressSelector",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "SupplementalGroupsPolicy",
    "SystemdWatchdog",
    "TokenRequestServiceAccountUIDValidation",
    "TopologyManagerPolicyBetaOptions",
    "TopologyManagerPolicyOptions",
    "TranslateStreamCloseWebsocketRequests",
    "UnauthenticatedHTTP2DOSMitigation",
    "UnknownVersionInteroperabilityProxy",
    "UnlockWhileProcessingFIFO",
    "UserNamespacesSupport",
    "VolumeAttributesClass",
    "WatchCacheInitializationPostStartHook",
    "WatchList",
    "WatchListClient",
    "WinDSR",
    "WinOverlay",
    "WindowsGracefulNodeShutdown",
];

/// Those that are closed.
const OFF: [&str; 71] = [
    "APIServingWithRoutine",
    "AllAlpha",
    "AllBeta",
    "AllowDNSOnlyNodeCSR",
    "AllowInsecureKubeletCertificateSigningRequests",
    "AllowOverwriteTerminationGracePeriodSeconds",
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "CPUManagerPolicyAlphaOptions",
    "CRIListStreaming",
    "CSIVolumeHealth",
    "ChangeContainerStatusOnKubeletRestart",
    "ClientsAllowCBOR",
    "ClientsPreferCBOR",
    "CloudControllerManagerWatchBasedRoutesReconciliation",
    "CloudControllerManagerWebhook",
    "ClusterTrustBundle",
    "ClusterTrustBundleProjection",
    "ConcurrentWatchObjectDecode",
    "ContainerStopSignals",
    "CoordinatedLeaderElection",
    "CrossNamespaceVolumeDataSource",
    "DRADeviceTaintRules",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAResourcePoolStatus",
    "DRAWorkloadResourceClaims",
    "DeclarativeValidationTakeover",
    "EventedPLEG",
    "GangScheduling",
    "GenericWorkload",
    "GitRepoVolumeDriver",
    "HPAScaleToZero",
    "ImageVolumeWithDigest",
    "InPlacePodVerticalScalingExclusiveCPUs",
    "InPlacePodVerticalScalingExclusiveMemory",
    "KMSv1",
    "KubeletInUserNamespace",
    "KubeletRegistrationGetOnExistsOnly",
    "LocalStorageCapacityIsolationFSQuotaMonitoring",
    "LoggingAlphaOptions",
    "ManifestBasedAdmissionControlConfig",
    "MaxUnavailableStatefulSet",
    "MemoryQoS",
    "MutablePVNodeAffinity",
    "NativeHistograms",
    "PersistentVolumeClaimUnusedSinceTime",
    "PodAndContainerStatsFromCRI",
    "PodCertificateRequest",
    "PodLevelResourceManagers",
    "PodLogsQuerySplitStreams",
    "PodsAPI",
    "QOSReserved",
    "ReduceDefaultCrashLoopBackOffDecay",
    "RuntimeClassInImageCriApi",
    "SELinuxMount",
    "SchedulerAsyncAPICalls",
    "SeparateCacheWatchRPC",
    "ShardedListAndWatch",
    "StorageCapacityScoring",
    "StorageVersionAPI",
    "StorageVersionMigrator",
    "TaintTolerationComparisonOperators",
    "TopologyAwareWorkloadScheduling",
    "TopologyManagerPolicyAlphaOptions",
    "UserNamespacesHostNetworkSupport",
    "VolumeLimitScaling",
    "WindowsCPUAndMemoryAffinity",
    "WindowsHostNetwork",
    "WorkloadAwarePreemption",
    "WorkloadWithJob",
];

/// Says no to gates that nobody knows, and to those that are to be other than they are. `values` is
/// what `--feature-gates` was given: `A=true,kube:B=false`, maybe several times.
pub(super) fn check(values: &[String]) -> Result<(), String> {
    let all = values.iter().flat_map(|value| value.split(','));
    for pair in all.map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("missing bool value for feature gate {pair:?}"))?;
        let name = name.strip_prefix("kube:").unwrap_or(name).trim();
        let wanted = match value.trim() {
            "true" | "1" | "t" | "T" | "TRUE" | "True" => true,
            "false" | "0" | "f" | "F" | "FALSE" | "False" => false,
            other => {
                return Err(format!(
                    "invalid value of {name}={other}, expected true or false"
                ));
            }
        };
        let present = match (ON.binary_search(&name), OFF.binary_search(&name)) {
            (Ok(_), _) => true,
            (_, Ok(_)) => false,
            _ => return Err(format!("unrecognized feature gate: {name}")),
        };
        if wanted != present {
            return Err(format!(
                "feature gate {name} is {present} and cannot be changed here: leave {name}={wanted} \
                 out"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(value: &str) -> String {
        check(&[value.to_owned()]).unwrap_err()
    }

    #[test]
    fn gates_stay_as_they_are() {
        assert!(ON.is_sorted() && OFF.is_sorted());
        let fine = ["GangScheduling=false,kube:SchedulerQueueingHints=true", ""];
        assert_eq!(check(&fine.map(str::to_owned)), Ok(()));
        assert_eq!(
            refused("GangScheduling=true"),
            "feature gate GangScheduling is false and cannot be changed here: leave \
             GangScheduling=true out"
        );
        assert_eq!(refused("Bogus=true"), "unrecognized feature gate: Bogus");
        assert!(refused("GangScheduling").starts_with("missing bool value"));
        assert!(refused("GangScheduling=maybe").starts_with("invalid value"));
    }
}
