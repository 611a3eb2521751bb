import { formatAddress, parseAddress } from '../../../shared/filecoin/address.ts'
import {
  decodeConstructorParams,
  decodeExecParams,
  decodeExecReturn,
} from '../../../shared/filecoin/init-actor.ts'
import { decodeUpdateParams } from '../../../shared/filecoin/payment-channel.ts'
import { voucherText } from '../../../shared/filecoin/voucher.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import type { FilecoinIdentity } from '../../../shared/events/filecoin-event.ts'
import type { DevChain } from '../../../devnet/filecoin/lotus.ts'
import { codeOf } from '../../../devnet/filecoin/actors/actor-codes.ts'
import { keyOf, type Tipset } from '../../../devnet/filecoin/chain/tipset.ts'
import type { SignedMessage } from '../../../devnet/filecoin/chain/signed-message.ts'
import type { Receipt } from '../../../devnet/filecoin/vm/execute-message.ts'

/** The tipset at or below that height on the chain's own branch. */
export function tipsetAt(chain: DevChain, height: number): Tipset {
  return chain.store.atOrBelow(height, chain.head())
}

export function keyAt(chain: DevChain, height: number): string {
  return keyOf(tipsetAt(chain, height)).join(',')
}

/** What happened to channels up to that height, read from the chain's own memory: one line per message. */
export function chainLines(chain: DevChain, upTo: number): string[] {
  const lines: string[] = []
  const branch: Tipset[] = []
  for (let at: Tipset | null = tipsetAt(chain, upTo); at !== null; at = at.parent) branch.unshift(at)
  for (const tipset of branch) {
    tipset.execution.messages.forEach((message, index) => {
      const receipt = tipset.execution.receipts[index]
      if (receipt?.exitCode !== 0) return
      const line = lineOf(chain, tipset, message, receipt)
      if (line !== null)
        lines.push([tipset.height, keyOf(tipset).join(','), message.cid, index, line].join(' '))
    })
  }
  return lines
}

function lineOf(
  chain: DevChain,
  tipset: Tipset,
  { message }: SignedMessage,
  receipt: Receipt,
): string | null {
  const text = (address: typeof message.to): string => formatAddress(address, chain.letter)
  const names = (address: typeof message.to): string => {
    const actor = tipset.state?.find(address)
    return `${text(address)}=t0${actor?.id ?? '?'}=${actor?.robust == null ? '?' : text(actor.robust)}`
  }
  const to = text(message.to)
  const sender = names(message.from)
  if (to === 't01') {
    if (message.method !== 2n) return null
    const exec = decodeExecParams(message.params)
    if (exec.codeCid !== codeOf('paymentchannel')) return null
    const made = decodeExecReturn(receipt.returned)
    const parties = decodeConstructorParams(exec.params)
    const channel = `${text(made.idAddress)} ${text(made.robustAddress)}`
    return `CreateChannel ${channel} ${sender} ${names(parties.from)} ${names(parties.to)} ${message.value}`
  }
  if (!/^t(0[1-9]\d\d|2)/.test(to)) return null
  const channel = to.startsWith('t2') ? to : 'null'
  switch (Number(message.method)) {
    case 0:
      return message.value > 0n ? `FundChannel ${to} ${channel} ${text(message.from)} ${message.value}` : null
    case 2: {
      const { voucher, secret } = decodeUpdateParams(message.params)
      return `UpdateChannel ${to} ${channel} ${sender} ${voucherText(voucher)} ${Buffer.from(secret).toString('hex')}`
    }
    case 3: {
      const settlingAt = tipset.state?.find(message.to)?.channel?.settlingAt
      return `SettleChannel ${to} ${channel} ${sender} ${settlingAt ?? '?'} state`
    }
    case 4:
      return `CollectChannel ${to} ${channel} ${sender}`
    default:
      return null
  }
}

/** The same lines of what a source read. */
export function eventLines(events: readonly ChainEvent[]): string[] {
  return events.map((event) => {
    const place = [event.blockNumber, event.blockHash, event.txHash, event.logIndex]
    return [...place, ...partsOf(event)].join(' ')
  })
}

function partsOf(event: ChainEvent): unknown[] {
  // eslint-disable-next-line @typescript-eslint/switch-exhaustiveness-check -- what else there is has no parts here
  switch (event.kind) {
    case 'CreateChannel': {
      const parties = [event.sender, event.from, event.recipient].map(names)
      return [event.kind, event.channelId, event.channel, ...parties, event.value]
    }
    case 'FundChannel':
      return [event.kind, event.to, String(event.channel), event.sender.asWritten, event.value]
    case 'UpdateChannel': {
      const { voucher, secret } = event
      const head = [event.kind, event.to, String(event.channel), names(event.sender)]
      return [...head, voucher.text, secret === null ? '' : secret.slice(2)]
    }
    case 'SettleChannel': {
      const head = [event.kind, event.to, String(event.channel), names(event.sender)]
      return [...head, event.settlingAtEpoch, event.settlingAtFrom]
    }
    case 'CollectChannel':
      return [event.kind, event.to, String(event.channel), names(event.sender)]
    default:
      return [event.kind]
  }
}

function names({ asWritten, id, robust }: FilecoinIdentity): string {
  const shown = robust[0] ?? '?'
  if (parseAddress(asWritten) === null) return 'no address'
  return `${asWritten}=${id ?? '?'}=${shown}`
}
