/** Days as whole numbers since 1970-01-01, in UTC and in any year. */

export interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

const floor = Math.floor;

/** Return the number of days from 1970-01-01 to a Gregorian date. */
export function dayNumber(year: number, month = 1, day = 1): number {
  // Years begin in March: the leap day comes last.
  const shifted = month <= 2 ? year - 1 : year;
  const dayOfYear = floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = floor(shifted / 4) - floor(shifted / 100) + floor(shifted / 400);
  return 365 * shifted + leapDays + dayOfYear - 719_468;
}

/** Return the date of a day's number. */
export function civilDate(number: number): CivilDate {
  const era = floor((number + 719_468) / 146_097);
  const dayOfEra = number + 719_468 - era * 146_097;
  const leaps = floor(dayOfEra / 1460) - floor(dayOfEra / 36_524) + floor(dayOfEra / 146_096);
  const year = floor((dayOfEra - leaps) / 365);
  const dayOfYear = dayOfEra - (365 * year + floor(year / 4) - floor(year / 100));
  const month = floor((5 * dayOfYear + 2) / 153);
  const first = floor((153 * month + 2) / 5);
  return {
    year: 400 * era + year + floor(month / 10),
    month: ((month + 2) % 12) + 1,
    day: dayOfYear - first + 1,
  };
}

/** Return the weekday of a day's number: 0 is Monday, 6 is Sunday. */
export function weekday(number: number): number {
  return (((number + 3) % 7) + 7) % 7;
}

/** Return the ISO year and week (1 to 53) of a day's number. */
export function isoWeek(number: number): { year: number; week: number } {
  const thursday = number - weekday(number) + 3;
  const year = civilDate(thursday).year;
  return { year, week: floor((thursday - dayNumber(year)) / 7) + 1 };
}

/** Return the day's number of the Monday that begins the first ISO week of a year. */
export function firstIsoMonday(year: number): number {
  const fourth = dayNumber(year, 1, 4);
  return fourth - weekday(fourth);
}
