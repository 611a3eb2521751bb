import * as z from 'zod'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { askEveryone, settle } from '../rpc/ask-everyone.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import type { RpcErrorKind } from '../rpc/rpc-error.ts'
import { keyParam, lotusCall } from './lotus-call.ts'

/** A question about the state that a tipset begins with: what its parents' messages left. */
export interface StateCall {
  method: string
  params: unknown[]
  /** The tipset's key. */
  at: string
}

/**
 * Each question's outcome, in their order: an answer, or an error that is one (there is no such actor, or no endpoint
 * has that state or that method). Throws a RetryableError while an endpoint may still know: a time-out, an internal
 * error or a tipset that it has not seen yet is no answer.
 */
export function askState(client: RpcClient, what: string, calls: readonly StateCall[]): Promise<RpcAnswer[]> {
  if (calls.length === 0) return Promise.resolve([])
  return askEveryone(
    client,
    what,
    calls,
    async (endpoint, open) => {
      const answers = await endpoint.send(open.map(rpcCall))
      const final: RpcErrorKind[] = ['revert', 'pruned', 'unsupported', 'too-large']
      return settle(client, endpoint, open.map(nameOf), answers, final, (index) =>
        isWell(endpoint, open[index]),
      )
    },
    ['pruned', 'unsupported', 'too-large'],
  )
}

/** Epochs whose state every full node has: finality. A refusal of a newer state may pass. */
const RECENT_STATES = 900
const heightSchema = z.looseObject({ Height: z.int().nonnegative() })

/**
 * Whether the state is an old one, and the endpoint answers the same question of its head and knows the tipset: then it is
 * not behind, and not away.
 */
async function isWell(endpoint: RpcEndpoint, call: StateCall | undefined): Promise<boolean> {
  if (call === undefined) return false
  const atHead = rpcCall({ ...call, at: '' })
  const answers = await endpoint.send([
    atHead,
    lotusCall('ChainGetTipSet', keyParam(call.at)),
    lotusCall('ChainHead'),
  ])
  const [newest, tipset, head] = answers
  if (newest === undefined || !(newest.ok || newest.kind === 'revert')) return false
  const [at, now] = [tipset, head].map((answer) => heightSchema.safeParse(answer?.ok ? answer.result : null))
  if (at?.success !== true || now?.success !== true) return false
  return now.data.Height - at.data.Height > RECENT_STATES
}

export function rpcCall({ method, params, at }: StateCall): RpcCall {
  return lotusCall(method, ...params, keyParam(at))
}

export function nameOf({ method, params, at }: StateCall): string {
  return `${method}/${JSON.stringify(params)}/${at}`
}
