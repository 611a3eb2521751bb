import { openWallet } from '../../devnet/filecoin/wallet.ts'
import { idAddress } from '../../shared/filecoin/address.ts'
import { messageCid, type Message } from '../../shared/filecoin/message.ts'
import type { MessageReceipt } from '../../shared/filecoin/receipt.ts'

const PARAMS_BYTES = 720
const FIRST_RECEIVER = 1000

export interface QuietMessage {
  cid: string
  message: Message
  receipt: MessageReceipt
}

/** Makes messages that concern no channel, like those of storage providers: some 700 bytes of parameters each. */
export function quietMessages(count: number): QuietMessage[] {
  const { key } = openWallet(
    { letter: 't', nextNonce: () => Promise.resolve(0n), push: () => Promise.resolve('') },
    'bls',
    'provider',
  )
  return Array.from({ length: count }, (_, index) => {
    const message: Message = {
      version: 0,
      to: idAddress(BigInt(FIRST_RECEIVER + index)),
      from: key,
      nonce: BigInt(index),
      value: 0n,
      gasLimit: 60_000_000n,
      gasFeeCap: 200_000n,
      gasPremium: 100_000n,
      method: BigInt(5 + (index % 20)),
      params: new Uint8Array(PARAMS_BYTES),
    }
    const receipt = { exitCode: 0, returned: new Uint8Array(), gasUsed: 2_071_100, eventsRoot: null }
    return { cid: messageCid(message), message, receipt }
  })
}
