import { signal } from '@preact/signals'
import { getStatus, type NetworkHealth, type StatusAnswer } from '../../../client/index.ts'
import { ask } from './api.ts'
import { pause } from './use-answer.ts'

export type Status = StatusAnswer['payload']

/** Last answer of `/api/status`, undefined before the first; kept while the API is away. */
export const status = signal<Status | undefined>(undefined)

/** Whether the last question for it failed. */
export const isStatusOld = signal(false)

const EVERY_MS = 4000

/** Asks for the status until the signal. Failures show in {@link connection}. */
export async function followStatus(stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      status.value = (await ask(getStatus, stop)).data.payload
      isStatusOld.value = false
    } catch {
      // The next round asks again.
      isStatusOld.value = true
    }
    await pause(EVERY_MS, stop)
  }
}

/** The health of the network with this id: a chain id, or a Filecoin network's name. */
export function healthOf(networkId: string): NetworkHealth | undefined {
  return status.value?.networks.find((network) => network.networkId === networkId)
}

/** The networks that are followed and are not up to date. */
export function behind(networks: NetworkHealth[]): NetworkHealth[] {
  return networks.filter(({ synced, state }) => !synced && state !== 'not followed')
}
