/** RFC 9110, 12.4.2; also without the zero, as Java's `HttpURLConnection` sends it (JDK-8163921). */
const weightForm = /^(?:0?\.\d{1,3}|0\.?|1(?:\.0{0,3})?)$/

/** The weight of a range in an `Accept` header, from 0 to 1. `text`: the value of its parameter `q`; 0 if it is malformed. */
export function acceptWeight(text: string): number {
  return weightForm.test(text) ? Number(text) : 0
}
