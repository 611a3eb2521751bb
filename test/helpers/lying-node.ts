import type { Fault } from '../chain/sources/faulty-proxy.ts'

/** The false answers of a node that lies (or is broken). */
export interface Lies {
  /** Senders whose failed messages it reports as executed, so that their parameters count. */
  succeeds: Set<string>
  /** Extra vouchers in its store, by channel. They are JSON texts because they hold numbers that JavaScript cannot. */
  vouchers: Map<string, string[]>
  /** Number of false receipts it returned. */
  told: number
}

interface ExecutedJson {
  Message: { From: string }
}

/**
 * A fault for `startProxy`: true answers, except for the lies. No header hashes, as on a chain with a rule of its own: else
 * false receipts would be refused.
 */
export function lyingNode(lies: Lies): Fault {
  return async (requests, truth, isBatch) => {
    const isTouched = requests.some(({ method }) =>
      /ParentReceipts$|PaychVoucherList$|PaychList$|TipSet|ChainHead$|Genesis$/.test(method),
    )
    if (!isTouched) return null
    const answers = await truth()
    const resultOf = (method: string, param: unknown): unknown => {
      const asked = requests.find(
        (request) =>
          request.method.endsWith(method) && JSON.stringify(request.params) === JSON.stringify(param),
      )
      return answers.find(({ id }) => id === asked?.id)?.result
    }
    const texts = answers.map((answer) => {
      const asked = requests.find(({ id }) => id === answer.id)
      const [channel] = asked?.params ?? []
      if (asked?.method.endsWith('ParentReceipts') === true) {
        const messages = resultOf('ParentMessages', asked.params)
        return JSON.stringify({ ...answer, result: receipts(lies, messages, answer.result) })
      }
      if (asked?.method.endsWith('PaychList') === true) {
        const listed = Array.isArray(answer.result) ? (answer.result as string[]) : []
        return JSON.stringify({ ...answer, result: [...new Set([...listed, ...lies.vouchers.keys()])] })
      }
      const more = typeof channel === 'string' ? lies.vouchers.get(channel) : undefined
      if (more === undefined)
        return JSON.stringify(answer).replaceAll('"ForkSignaling":0', '"ForkSignaling":1')
      const listed = Array.isArray(answer.result) ? answer.result.map((item) => JSON.stringify(item)) : []
      return `{"jsonrpc":"2.0","id":${answer.id},"result":[${[...listed, ...more].join()}]}`
    })
    return { body: isBatch ? `[${texts.join()}]` : (texts[0] ?? '') }
  }
}

function receipts(lies: Lies, messages: unknown, answer: unknown): unknown {
  if (!Array.isArray(messages) || !Array.isArray(answer)) return answer
  return answer.map((receipt: { ExitCode: number }, index) => {
    const { Message } = messages[index] as ExecutedJson
    if (receipt.ExitCode === 0 || !lies.succeeds.has(Message.From)) return receipt
    lies.told += 1
    return { ...receipt, ExitCode: 0 }
  })
}
