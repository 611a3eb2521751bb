import type { RpcCall } from '../rpc/rpc-endpoint.ts'

/** Builds a call of a node's method by its own name (`ChainHead`). Parameters are positional; all must be given. */
export function lotusCall(method: string, ...params: unknown[]): RpcCall {
  return { method: `Filecoin.${method}`, params }
}

export function cidParam(cid: string): unknown {
  return { '/': cid }
}

/** A tipset's key, the CIDs of its blocks in order; the empty list means the head. */
export function keyParam(key: string): unknown[] {
  return key === '' ? [] : key.split(',').map(cidParam)
}
