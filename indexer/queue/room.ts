/**
 * What the networks of one process hold together of what is read and not written: characters of events' texts, and so many
 * for each event, which takes more memory than its text.
 */
export function weightOf(events: number, text: number): number {
  return text + events * CHARACTERS_FOR_AN_EVENT
}

const CHARACTERS_FOR_AN_EVENT = 2_000
/** About 8,000 events. One network that is alone holds up to twice that, by its own bounds. */
const MOST_TOGETHER = 20 * 1024 * 1024

/**
 * The room for events of all networks in a process. Nobody waits for another network here: whoever holds more than its share
 * while there is no room reads and collects as little as it can, until it has written some of it.
 */
export class Room {
  readonly #most: number
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(most = MOST_TOGETHER) {
    this.#most = most
  }

  /** One network's part of the room. */
  of(network: string): NetworkRoom {
    return {
      take: (weight) => this.#change(network, weight),
      leave: (weight) => this.#change(network, -weight),
      leaveAll: () => this.#change(network, -(this.#held.get(network) ?? 0)),
      isTight: () => this.#isTight(network),
    }
  }

  #change(network: string, weight: number): void {
    const held = Math.max(0, (this.#held.get(network) ?? 0) + weight)
    this.#total += held - (this.#held.get(network) ?? 0)
    if (held === 0) this.#held.delete(network)
    else this.#held.set(network, held)
  }

  #isTight(network: string): boolean {
    const held = this.#held.get(network) ?? 0
    return this.#held.size > 1 && this.#total >= this.#most && held >= this.#most / this.#held.size
  }
}

export interface NetworkRoom {
  take: (weight: number) => void
  leave: (weight: number) => void
  leaveAll: () => void
  /** Whether this network holds its share or more, and all together have no room: never where it is the only one. */
  isTight: () => boolean
}
