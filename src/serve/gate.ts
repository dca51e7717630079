/** What the gate has done, for `/metrics`. */
import type { HttpServer } from '../http.ts'
import type { Figure } from '../metrics.ts'

export function gateFigures({ gate }: HttpServer): Figure[] {
  const { line, connections, readers } = gate
  const figure = (kind: Figure['kind'], name: string, help: string, read: () => number): Figure => {
    return { name: `portico_${name}`, help, kind, read }
  }
  return [
    figure(
      'gauge',
      'overloaded',
      'Whether requests are refused that cannot be answered in time: 1 or 0.',
      () => (line.isRefusing ? 1 : 0),
    ),
    figure(
      'counter',
      'shed_requests_total',
      'Requests that were refused because too many came. No other figure counts them.',
      () => line.counts.refused,
    ),
    figure('gauge', 'waiting_requests', 'Requests that wait for their turn.', () => line.length),
    figure('gauge', 'connections', 'Connections that are open.', () => connections.open),
    figure(
      'counter',
      'refused_connections_total',
      'Requests on connections, and connections, that were one too many.',
      () => connections.counts.refused,
    ),
    figure('gauge', 'unread_bytes', 'Bytes of answers that wait for slow clients.', () => readers.bytes),
    figure(
      'counter',
      'slow_readers_total',
      'Connections that were ended since the client did not take its answer.',
      () => readers.counts.cutOff,
    ),
  ]
}
