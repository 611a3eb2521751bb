import type { RpcCall } from '../rpc/rpc-endpoint.ts'

/** A method of a Filecoin node by its own name (`ChainHead`); parameters are positional, exactly as many as it has. */
export function lotusCall(method: string, ...params: unknown[]): RpcCall {
  return { method: `Filecoin.${method}`, params }
}

export function cidParam(cid: string): unknown {
  return { '/': cid }
}

/** A tipset's key, the CIDs of its blocks in their order; the empty list means the head. */
export function keyParam(key: string): unknown[] {
  return key === '' ? [] : key.split(',').map(cidParam)
}
