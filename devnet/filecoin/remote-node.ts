import { formatAddress, type NetworkLetter } from '../../shared/filecoin/address.ts'
import { parseLotusJson } from '../../shared/filecoin/lotus-json.ts'
import { signedMessageForm } from './rpc/forms.ts'
import { lotusText } from './rpc/lotus-text.ts'
import * as take from './rpc/params.ts'
import type { MessageSink } from './wallet.ts'

/** A node in another process: the part that a wallet needs, and any other call. */
export interface RemoteNode extends MessageSink {
  /** Returns the result of one JSON-RPC call; `method` includes its prefix. Throws the node's error. */
  call(method: string, ...params: unknown[]): Promise<unknown>
}

export function remoteNode(url: string, letter: NetworkLetter, token?: string): RemoteNode {
  const headers = {
    'content-type': 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  async function call(method: string, ...params: unknown[]): Promise<unknown> {
    const body = lotusText({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', headers, body })
    const text = await response.text()
    if (text === '') throw new Error(`${method}: HTTP ${response.status}`)
    const answer = take.record(parseLotusJson(text))
    if (answer['error'] !== undefined)
      throw new Error(`${method}: ${String(take.record(answer['error'])['message'])}`)
    return answer['result']
  }
  return {
    letter,
    call,
    async nextNonce(address) {
      return take.uint64(await call('Filecoin.MpoolGetNonce', formatAddress(address, letter)))
    },
    async push(signed) {
      return take.cid(await call('Filecoin.MpoolPush', signedMessageForm(signed, letter)))
    },
  }
}
