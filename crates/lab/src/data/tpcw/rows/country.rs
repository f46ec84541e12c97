//! The 92 countries.

use super::Row;

pub const COUNTRIES: u64 = LIST.len() as u64;

/// Name, units of the currency for one US dollar, currency. The United States come first at a rate of 1,
/// the others by name. The rates are round figures, made for joins and not for money.
#[rustfmt::skip]
const LIST: [(&str, &str, &str); 92] = [
    ("United States", "1", "Dollars"), ("Algeria", "66.574", "Dinars"), ("Argentina", "0.998", "Pesos"),
    ("Armenia", "540.92", "Dram"), ("Australia", "1.54124", "Dollars"), ("Austria", "13.0949", "Schillings"),
    ("Azerbaijan", "3977", "Manat"), ("Bahamas", "1", "Dollars"), ("Bahrain", "0.3757", "Dinars"),
    ("Bangladesh", "48.65", "Taka"), ("Barbados", "2", "Dollars"), ("Belarus", "248000", "Rubles"),
    ("Belgium", "38.3892", "Francs"), ("Bermuda", "1", "Dollars"), ("Bolivia", "5.74", "Boliviano"),
    ("Botswana", "4.7304", "Pula"), ("Brazil", "1.71", "Real"), ("Bulgaria", "1846", "Lev"),
    ("Canada", "1.49", "Dollars"), ("Cayman Islands", "0.8282", "Dollars"), ("Chad", "627.18", "Francs"),
    ("Chile", "494.2", "Pesos"), ("China", "8.278", "Yuan Renminbi"), ("Christmas Island", "1.5391", "Dollars"),
    ("Colombia", "1677", "Pesos"), ("Croatia", "7.3044", "Kuna"), ("Cuba", "23", "Pesos"),
    ("Cyprus", "0.543", "Pounds"), ("Czech Republic", "36.0127", "Koruna"), ("Denmark", "7.0707", "Kroner"),
    ("Dominican Republic", "15.8", "Pesos"), ("Eastern Caribbean", "2.7", "Dollars"),
    ("Ecuador", "9600", "Sucre"), ("Egypt", "3.33", "Pounds"), ("El Salvador", "8.771", "Colon"),
    ("Estonia", "14.9119", "Kroon"), ("Ethiopia", "7.7", "Birr"), ("Falkland Islands", "0.6255", "Pounds"),
    ("Faroe Islands", "7.124", "Kroner"), ("Fiji", "1.9724", "Dollars"), ("Finland", "5.65822", "Markka"),
    ("France", "6.2427", "Francs"), ("Gabon", "627.9", "Francs"), ("Germany", "1.8612", "Deutsche Mark"),
    ("Gibraltar", "0.6255", "Pounds"), ("Greece", "309.214", "Drachmas"), ("Guam", "1", "Dollars"),
    ("Hong Kong", "7.7636", "Dollars"), ("Hungary", "237.23", "Forint"), ("Iceland", "74.147", "Krona"),
    ("India", "42.75", "Rupees"), ("Indonesia", "8100", "Rupiah"), ("Iran", "3000", "Rial"),
    ("Iraq", "0.3083", "Dinar"), ("Ireland", "0.7495", "Punt"), ("Israel", "4.12", "Shekels"),
    ("Italy", "1842.6", "Lira"), ("Jamaica", "37.4", "Dollars"), ("Japan", "123.907", "Yen"),
    ("Jordan", "0.7088", "Dinar"), ("Kazakhstan", "150.1", "Tenge"), ("Kuwait", "0.3064", "Dinar"),
    ("Lebanon", "1502", "Pounds"), ("Luxembourg", "38.3892", "Francs"), ("Malaysia", "3.8", "Ringgit"),
    ("Mauritius", "25.245", "Rupees"), ("Mexico", "9.6287", "Pesos"), ("Netherlands", "2.0971", "Guilders"),
    ("New Zealand", "1.8773", "Dollars"), ("Norway", "7.62", "Kroner"), ("Pakistan", "51.9", "Rupees"),
    ("Philippines", "37.85", "Pesos"), ("Poland", "3.9392", "Zloty"), ("Portugal", "190.788", "Escudo"),
    ("Romania", "15160", "Leu"), ("Russia", "24.43", "Rubles"), ("Saudi Arabia", "3.7501", "Riyal"),
    ("Singapore", "1.726", "Dollars"), ("Slovakia", "43.14", "Koruna"), ("South Africa", "6.1519", "Rand"),
    ("South Korea", "1185.2", "Won"), ("Spain", "158.34", "Pesetas"), ("Sudan", "2528", "Dinar"),
    ("Sweden", "8.203", "Krona"), ("Switzerland", "1.5204", "Francs"), ("Taiwan", "32.2855", "Dollars"),
    ("Thailand", "37.17", "Baht"), ("Trinidad and Tobago", "6.2928", "Dollars"), ("Turkey", "415400", "Lira"),
    ("United Kingdom", "0.6255", "Pounds"), ("Venezuela", "598", "Bolivar"), ("Zambia", "2387", "Kwacha"),
];

pub(super) fn country(number: u64, row: &mut Row<'_>) {
    // The generator is asked for 1 to COUNTRIES; any other number takes the nearest country.
    let (name, rate, currency) = LIST[number.clamp(1, COUNTRIES) as usize - 1];
    row.whole(number).text(name).text(rate).text(currency);
}
