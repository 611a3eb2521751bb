import type { DevChain } from '../chain/dev-chain.ts'
import type { Tipset } from '../chain/tipset.ts'
import type { Certifier } from '../f3/certifier.ts'
import type { VoucherStore } from '../voucher-store.ts'
import { failed } from './rpc-error.ts'
import { tipsetKey } from './params.ts'

export type Permission = 'read' | 'write' | 'admin'

export interface Node {
  chain: DevChain
  vouchers: VoucherStore
  /** Null on a node without F3. */
  certifier: Certifier | null
}

export interface Method {
  /** Exact number of parameters. */
  params: number
  permission: Permission
  run(node: Node, params: readonly unknown[]): unknown
}

export type Methods = Record<string, Method>

export function read(params: number, run: Method['run']): Method {
  return { params, permission: 'read', run }
}

export function write(params: number, run: Method['run']): Method {
  return { params, permission: 'write', run }
}

export function admin(params: number, run: Method['run']): Method {
  return { params, permission: 'admin', run }
}

/** Returns the tipset that a parameter names, or the head if it names none. */
export function tipsetAt({ chain }: Node, key: unknown): Tipset {
  const cids = tipsetKey(key)
  return cids.length === 0 ? chain.head() : knownTipset(chain, cids)
}

export function knownTipset(chain: DevChain, cids: readonly string[]): Tipset {
  const tipset = chain.store.byKey(cids)
  if (tipset !== undefined) return tipset
  const missing = cids.find((cid) => chain.store.block(cid) === undefined) ?? cids.join()
  throw failed(`loading tipset {${cids.join(',')}}: get block ${missing}: ipld: could not find ${missing}`)
}
