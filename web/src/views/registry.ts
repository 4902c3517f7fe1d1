// The one place where views are registered: what is here is in the navigation, has a key and an address.

import type { ComponentType } from "preact";
import { store } from "../state/store";
import { Cluster } from "./cluster";
import { Disruptions } from "./disruptions";
import { Health } from "./health";
import { Pending } from "./pending";
import { TournamentView } from "./tournament";
import { WhatIf } from "./whatif";
import { Workloads } from "./workloads";

export interface View {
  id: string;
  title: string;
  /** Pressed after `g`. */
  key: string;
  component: ComponentType;
  /** A number beside the title; nothing if it is 0. */
  badge?: () => number;
}

export const VIEWS: View[] = [
  { id: "cluster", title: "Cluster", key: "c", component: Cluster },
  { id: "pending", title: "Pending", key: "p", component: Pending, badge: () => store.pending.size },
  { id: "tournament", title: "Tournament", key: "t", component: TournamentView },
  { id: "workloads", title: "Workloads", key: "w", component: Workloads },
  { id: "disruptions", title: "Disruptions", key: "d", component: Disruptions },
  { id: "health", title: "Health", key: "h", component: Health },
  { id: "whatif", title: "What if", key: "i", component: WhatIf },
];
